// The model of a job that is over, from the coordinator that stays to serve it: as in a pod without
// an output volume.
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/store/sha256.h"
#include "lib/telemetry/http_get.h"
#include "tests/integration/tcp_job.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kToken = "dG9rZW4gb2YgdGhpcyBqb2IsIGxvbmcgZW5vdWdo";
constexpr Duration kTimeout = std::chrono::seconds(10);

class ModelTest : public ::testing::Test {
 protected:
  // A job that ends soon, its coordinator told to serve what it comes to.
  void Train() {
    const std::string token = folder_.path() + "/model-token";
    std::ofstream(token) << kToken << "\n";
    job_.StartPs(0, {"--serve-model=true", "--log-format=text", "--token-file", token,
                     "--final-state", last_word_path()});
    job_.StartWorker(0);
    job_.StartEvaluator();
    const Json over = job_.WaitFor([](const Json& now) { return now.contains("finished"); });
    ASSERT_FALSE(over.is_null()) << job_.LogOf("ps-0");
    ASSERT_EQ(over["finished"]["success"], true);
    model_ = over["model"];
    ASSERT_TRUE(job_.WaitForLog("ps-0", "serving the model"));
    // Who trained is free to go.
    EXPECT_EQ(job_.WaitExit("worker-0"), 0) << job_.LogOf("worker-0");
    EXPECT_TRUE(job_.IsRunning("ps-0"));
  }

  StatusOr<std::string> Call(const std::string& path, const std::string& token,
                             const std::string& body = "") {
    return telemetry::HttpSend({.host = "127.0.0.1",
                                .port = job_.plain_port(),
                                .path = path,
                                .method = body.empty() ? "GET" : "POST",
                                .body = body,
                                .headers = {{"X-Paceline-Token", token}}},
                               kTimeout);
  }
  std::string Fetched(size_t piece_bytes) {
    std::string content;
    while (content.size() < model_["sizeBytes"]) {
      const auto piece =
          Call(fmt::format("/v1/model?from={}&bytes={}", content.size(), piece_bytes), kToken);
      if (!piece.ok()) {
        ADD_FAILURE() << piece.status();
        break;
      }
      content += *piece;
    }
    return content;
  }
  std::string last_word_path() const { return folder_.path() + "/last-word.json"; }

  const TestFolder folder_;
  TcpJob job_{folder_, {.manifest = DigitsManifest(), .overrides = {"spec.workers.replicas=1"}}};
  Json model_;
};

TEST_F(ModelTest, IsServedUntilSomebodyHasIt) {
  Train();
  // To whoever has the token alone; probes and Prometheus are answered as before.
  EXPECT_EQ(Call("/v1/model?from=0&bytes=10", "another").status().code(),
            StatusCode::kPermissionDenied);
  EXPECT_TRUE(Call("/healthz", "").ok());
  EXPECT_THAT(Call("/metrics", "").value_or(""), HasSubstr("paceline_workers 0\n"));
  const std::string content = Fetched(5000);
  EXPECT_EQ(content, ReadText(job_.model_path()));
  store::Sha256 sum;
  sum.Add(std::as_bytes(std::span(content)));
  EXPECT_EQ(model_["sha256"], sum.Finish());
  // Only who says its digest has it.
  EXPECT_FALSE(Call("/v1/model", kToken, R"({"sha256": "ab"})").ok());
  EXPECT_TRUE(job_.IsRunning("ps-0"));
  EXPECT_TRUE(Call("/v1/model", kToken, Json{{"sha256", model_["sha256"]}}.dump()).ok());
  EXPECT_EQ(job_.WaitExit("ps-0"), 0) << job_.LogOf("ps-0");
  const Json word = Json::parse(ReadText(last_word_path()));
  EXPECT_EQ(word["model"]["fetched"], true);
  EXPECT_EQ(word["finished"]["success"], true);
}

TEST_F(ModelTest, AskedToEndItEndsAtOnceAndSaysThatNobodyHasIt) {
  Train();
  job_.Signal("ps-0", SIGTERM);
  EXPECT_EQ(job_.WaitExit("ps-0", 20), 0) << job_.LogOf("ps-0");
  EXPECT_EQ(Json::parse(ReadText(last_word_path()))["model"]["fetched"], false);
}

}  // namespace
}  // namespace paceline::integration
