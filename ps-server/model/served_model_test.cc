#include "ps-server/model/served_model.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/testing/eventually.h"
#include "lib/telemetry/http_get.h"

namespace paceline::ps {
namespace {

using telemetry::HttpCall;
using ::testing::HasSubstr;

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";
constexpr Duration kTimeout = std::chrono::seconds(10);

std::string Content(size_t bytes) {
  std::string content(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) content[i] = static_cast<char>(i * 7 + i / 251);
  return content;
}

class ServedModelTest : public ::testing::Test {
 protected:
  ServedModelTest()
      : path_(::testing::TempDir() + "served_model_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()),
        model_(path_, telemetry::AccessToken(path_ + ".token")) {
    std::ofstream(path_ + ".token") << kToken << "\n";
    auto routes = model_.Routes();
    routes.push_back(telemetry::HealthRoute());
    routes.push_back({"/progress", [](const auto&) { return telemetry::HttpAnswer{}; }});
    endpoint_ = telemetry::HttpEndpoint::Start({.routes = std::move(routes)}).value();
  }
  ~ServedModelTest() override {
    endpoint_->Stop();
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".token");
  }

  void Write(const std::string& content) {
    std::ofstream(path_, std::ios::binary) << content;
    model_.Written(store::DigestFile(path_).value());
  }
  StatusOr<std::string> Get(const std::string& query, const std::string& token = kToken) {
    HttpCall call{.host = "127.0.0.1", .port = endpoint_->port(), .path = "/v1/model" + query};
    if (!token.empty()) call.headers = {{"X-Paceline-Token", token}};
    return telemetry::HttpSend(call, kTimeout);
  }
  StatusOr<std::string> Confirm(const std::string& body, const std::string& token = kToken) {
    return telemetry::HttpSend({.host = "127.0.0.1",
                                .port = endpoint_->port(),
                                .path = "/v1/model",
                                .method = "POST",
                                .body = body,
                                .headers = {{"X-Paceline-Token", token}}},
                               kTimeout);
  }

  // Sends a request, and does not read what comes.
  int Ask(const std::string& request) const {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(endpoint_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(send(descriptor, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return descriptor;
  }
  static bool WaitFor(const std::function<bool()>& holds) {
    return paceline::testing::Eventually(holds, ToSeconds(kTimeout));
  }

  const std::string path_;
  ServedModel model_;
  std::unique_ptr<telemetry::HttpEndpoint> endpoint_;
};

TEST_F(ServedModelTest, GivesTheFilePieceByPiece) {
  const std::string content = Content(10000);
  Write(content);
  EXPECT_EQ(Get("?from=0&bytes=4096").value(), content.substr(0, 4096));
  EXPECT_EQ(Get("?from=4096&bytes=4096").value(), content.substr(4096, 4096));
  EXPECT_EQ(Get("?from=8192&bytes=4096").value(), content.substr(8192));
  EXPECT_EQ(Get("?from=9999&bytes=4194304").value(), content.substr(9999));
}

TEST_F(ServedModelTest, GivesNothingWithoutTheToken) {
  Write(Content(100));
  std::string nearly = kToken;
  nearly.back() = 'F';
  for (const std::string& wrong : {std::string(), nearly, nearly.substr(1), std::string("x")}) {
    EXPECT_EQ(Get("?from=0&bytes=10", wrong).status().code(), StatusCode::kPermissionDenied);
    EXPECT_EQ(Confirm("{}", wrong).status().code(), StatusCode::kPermissionDenied);
  }
  std::filesystem::remove(path_ + ".token");  // Then nobody is let in.
  EXPECT_EQ(Get("?from=0&bytes=10").status().code(), StatusCode::kPermissionDenied);
}

TEST_F(ServedModelTest, RefusesWhatIsNoPiece) {
  EXPECT_EQ(Get("?from=0&bytes=10").status().code(), StatusCode::kNotFound);  // None yet.
  Write(Content(100));
  for (const char* query : {"", "?from=0", "?bytes=5", "?from=-1&bytes=5", "?from=0&bytes=0",
                            "?from=0&bytes=4194305", "?from=x&bytes=5"})
    EXPECT_EQ(Get(query).status().code(), StatusCode::kInvalidArgument) << query;
  EXPECT_THAT(Message(Get("?from=100&bytes=5").status()), HasSubstr("416"));
  EXPECT_THAT(Message(Get("?from=18446744073709551615&bytes=5").status()), HasSubstr("416"));
  std::filesystem::resize_file(path_, 50);  // Somebody else's doing.
  EXPECT_THAT(Message(Get("?from=0&bytes=100").status()), HasSubstr("is shorter than it was"));
}

// A disk that does not answer takes two of the endpoint's threads and no more: others are turned
// away, and whoever asks for something else is answered.
TEST_F(ServedModelTest, ReadsThatHangLeaveRoomForOthers) {
  Write(Content(100));
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);  // To open it for reading waits for a writer.
  std::vector<std::thread> readers;
  std::atomic<int> turned_away = 0;
  for (int i = 0; i < 6; ++i) {
    readers.emplace_back([&] {
      const auto piece = Get("?from=0&bytes=10");
      if (Message(piece.status()).find("429") != std::string::npos) ++turned_away;
    });
  }
  EXPECT_TRUE(WaitFor([&] { return turned_away == 4; })) << turned_away;
  for (const char* path : {"/healthz", "/progress"}) {
    EXPECT_TRUE(telemetry::HttpSend({.host = "127.0.0.1", .port = endpoint_->port(), .path = path},
                                    kTimeout)
                    .ok())
        << path;
  }
  const int writer = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  for (std::thread& reader : readers) reader.join();
  close(writer);
  EXPECT_EQ(turned_away, 4);
}

// More than may be held of answers in all: probes are answered, and who reads gets his.
TEST_F(ServedModelTest, ClientsThatTakeNothingHoldNobodyUp) {
  const std::string content = Content(kModelPieceBytesMax);
  Write(content);
  std::vector<int> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(
        Ask(fmt::format("GET /v1/model?from=0&bytes={} HTTP/1.1\r\nHost: x\r\n"
                        "X-Paceline-Token: {}\r\n\r\n",
                        kModelPieceBytesMax, kToken)));
  }
  EXPECT_TRUE(telemetry::HttpSend(
                  {.host = "127.0.0.1", .port = endpoint_->port(), .path = "/healthz"}, kTimeout)
                  .ok());
  std::string got;
  EXPECT_TRUE(WaitFor([&] {
    auto piece = Get(fmt::format("?from=0&bytes={}", kModelPieceBytesMax));
    if (!piece.ok()) return false;  // 429 while others are read for.
    got = *std::move(piece);
    return true;
  }));
  EXPECT_EQ(got, content);
  for (const int descriptor : silent) close(descriptor);
}

TEST_F(ServedModelTest, IsServedUntilItsDigestIsConfirmed) {
  Write(Content(100));
  std::atomic<bool> has_ended = false;
  std::thread serving([&] {
    model_.Serve();
    has_ended = true;
  });
  EXPECT_EQ(Confirm("no object").status().code(), StatusCode::kInvalidArgument);
  const auto other = Confirm(R"({"sha256": "00"})");
  EXPECT_THAT(Message(other.status()), HasSubstr("409"));
  EXPECT_FALSE(model_.is_fetched());
  EXPECT_FALSE(has_ended);
  EXPECT_TRUE(Confirm(R"({"sha256": ")" + model_.digest()->sha256 + R"("})").ok());
  serving.join();
  EXPECT_TRUE(model_.is_fetched());
}

TEST_F(ServedModelTest, StopsServingWhenTold) {
  Write(Content(100));
  std::thread serving([&] { model_.Serve(); });
  model_.StopServing();
  serving.join();
  EXPECT_FALSE(model_.is_fetched());
}

}  // namespace
}  // namespace paceline::ps
