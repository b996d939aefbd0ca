// Whole jobs over TCP with certificates, as in pods.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/sync/trace/replay.h"
#include "lib/telemetry/access_token.h"
#include "lib/telemetry/http_get.h"
#include "tests/integration/tcp_job.h"

namespace paceline::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

TEST(TcpTest, JobTrainsWithCertificatesWhateverStartsFirst) {
  const TestFolder folder;
  TcpJob job(folder, {.manifest = DigitsManifest(),
                      .overrides = {"spec.parameterServer.shards=2", "spec.workers.replicas=2"}});
  // In the order that suits them least: all wait for the coordinator.
  job.StartEvaluator();
  job.StartWorker(0);
  job.StartWorker(1);
  job.StartPs(1);
  ASSERT_TRUE(job.WaitForLog("worker-0", "waiting for a peer"));
  job.StartPs(0);
  const Json open = job.WaitFor([](const Json& now) { return now["step"] >= 1; });
  ASSERT_FALSE(open.is_null()) << job.LogOf("ps-0");
  EXPECT_EQ(open["security"], (Json{{"mtls", "Enabled"}, {"inUse", true}}));
  // Probes, Prometheus and who watches need no certificate; nothing is changed without one.
  const auto plain = [&](const std::string& path) {
    return telemetry::HttpGet("127.0.0.1", job.plain_port(), path, std::chrono::seconds(5));
  };
  EXPECT_TRUE(plain("/healthz").ok());
  EXPECT_TRUE(plain("/readyz").ok());
  EXPECT_THAT(plain("/metrics").value_or(""), HasSubstr("paceline_"));
  EXPECT_EQ(Json::parse(plain("/v1/job").value_or("{}"))["security"], open["security"]);
  for (const auto& [method, path] :
       {std::pair("PUT", "/v1/job/spec"), std::pair("POST", "/v1/job/drain")}) {
    const auto answer = telemetry::HttpSend({.host = "127.0.0.1",
                                             .port = job.plain_port(),
                                             .path = path,
                                             .method = method,
                                             .body = R"({"workers": [0]})"},
                                            std::chrono::seconds(5));
    EXPECT_EQ(answer.status().code(), StatusCode::kNotFound) << method << path;
  }

  for (const char* const process : {"ps-0", "ps-1", "worker-0", "worker-1", "evaluator"})
    EXPECT_EQ(job.WaitExit(process), 0) << process << ": " << job.LogOf(process);
  ExpectEverySampleOnce(Json::parse(ReadText(job.summary_path())), 2);
  EXPECT_FALSE(ReadText(job.model_path()).empty());
}

// As in pods: its folder is the coordinator's to make, and advise wants the job.
TEST(TcpTest, ATraceHasTheJobBesideIt) {
  const TestFolder folder;
  TcpJob job(folder, {.manifest = DigitsManifest(),
                      .overrides = {"spec.workers.replicas=1", "spec.data.eval=null"}});
  const std::string run = folder.path() + "/out/t-trace-uid-1";
  job.StartPs(0, {"--trace", run + "/policy.trace"});
  job.StartWorker(0);
  EXPECT_EQ(job.WaitExit("ps-0"), 0) << job.LogOf("ps-0");
  const auto replay = sync::Replay(ReadText(run + "/policy.trace"));
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_FALSE(replay->difference.has_value());
  EXPECT_EQ(Json::parse(ReadText(run + "/job.json"))["metadata"]["name"], "t");
}

TEST(TcpTest, StrangersStayOutAndTheJobGoesOn) {
  const TestFolder folder;
  TcpJob job(folder, {.manifest = DigitsManifest(), .overrides = {"spec.workers.replicas=1"}});
  const auto authority = tls::testing::Authority("stranger", tls::testing::kNow);
  const tls::testing::IssuedFolder stranger(authority, "worker-1.t.default");
  job.StartPs(0);
  ASSERT_TRUE(job.WaitForLog("ps-0", "coordinating"));
  const std::vector<std::string> brief = {"--connect-timeout-seconds", "1"};
  // Another authority.
  job.StartWorker(1, {"--tls-folder", stranger.path(), brief[0], brief[1]});
  // Another role, and another index; they get as far as being told so.
  job.StartWorker(2, {"--tls-folder", job.tls(tls::Role::kOperator).path(), brief[0], brief[1]});
  job.StartWorker(3, {"--tls-folder", job.tls(tls::Role::kWorker, 4).path(), brief[0], brief[1]});
  EXPECT_EQ(job.WaitExit("worker-1"), 1);
  EXPECT_THAT(job.LogOf("worker-1"), HasSubstr("certificate verify failed"));
  EXPECT_EQ(job.WaitExit("worker-2"), 2);
  EXPECT_THAT(job.LogOf("worker-2"),
              HasSubstr("certificate names another process: got operator.t.default, want "
                        "worker-N.t.default or evaluator.t.default"));
  EXPECT_EQ(job.WaitExit("worker-3"), 2);
  EXPECT_THAT(job.LogOf("worker-3"), HasSubstr("certificate names another process: got "
                                               "worker-4.t.default, want worker-3.t.default"));
  EXPECT_THAT(job.LogOf("ps-0"), HasSubstr("peer refused"));
  job.StartWorker(0);
  job.StartEvaluator();
  EXPECT_EQ(job.WaitExit("ps-0"), 0) << job.LogOf("ps-0");
}

TEST(TcpTest, CertificateOfAnotherProcessIsSaidAtTheStart) {
  const TestFolder folder;
  TcpJob job(folder, {.manifest = DigitsManifest()});
  job.StartPs(0, {"--tls-folder", job.tls(tls::Role::kWorker).path()});
  EXPECT_EQ(job.WaitExit("ps-0"), 1);
  EXPECT_THAT(job.LogOf("ps-0"), HasSubstr("/tls.crt is another process's: names "
                                           "worker-0.t.default, want ps-0.t.default"));
}

TEST(TcpTest, PlainTextWorksWhereNoFolderIsGiven) {
  const TestFolder folder;
  TcpJob job(folder, {.manifest = DigitsManifest(),
                      .overrides =
                          Paced(0.0003, {"spec.workers.replicas=1", "spec.security.mtls=Disabled"}),
                      .has_tls = false});
  job.StartPs(0);
  job.StartWorker(0);
  job.StartEvaluator();
  const Json open = job.WaitFor([](const Json& now) { return now["step"] >= 1; });
  ASSERT_FALSE(open.is_null()) << job.LogOf("ps-0");
  EXPECT_EQ(open["security"], (Json{{"mtls", "Disabled"}, {"inUse", false}}));
  EXPECT_EQ(job.WaitExit("ps-0"), 0) << job.LogOf("ps-0");
  EXPECT_EQ(job.WaitExit("worker-0"), 0) << job.LogOf("worker-0");
}

TEST(TcpTest, WithoutTlsChangesNeedTheTokenAndNoPageMakesThem) {
  const TestFolder folder;
  TcpJob job(folder, {.manifest = DigitsManifest(),
                      .overrides = {"spec.workers.replicas=1", "spec.security.mtls=Disabled"},
                      .has_tls = false});
  job.StartPs(0);
  ASSERT_TRUE(job.WaitForLog("ps-0", "coordinating"));
  const auto call = [&](int port, const char* method, const char* path,
                        std::map<std::string, std::string> headers) {
    return telemetry::HttpSend({.host = "127.0.0.1",
                                .port = port,
                                .path = path,
                                .method = method,
                                .body = R"({"workers": []})",
                                .headers = std::move(headers)},
                               std::chrono::seconds(5))
        .status();
  };
  const std::string name = telemetry::kTokenHeader;
  for (const auto& [method, path] :
       {std::pair("PUT", "/v1/job/spec"), std::pair("POST", "/v1/job/drain")}) {
    // Not where everybody may come, whoever it is.
    EXPECT_EQ(call(job.plain_port(), method, path, {{name, job.token()}}).code(),
              StatusCode::kNotFound);
    const auto refused = [&](std::map<std::string, std::string> headers, const char* words) {
      const Status status = call(job.api_port(), method, path, std::move(headers));
      EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status;
      EXPECT_THAT(Message(status), HasSubstr(words));
    };
    refused({}, "needs a token: show it as X-Paceline-Token");
    refused({{name, std::string(64, '0')}}, "the token is another one");
    refused({{name, job.token()}, {"Origin", "http://evil.example"}}, "Origin is not allowed");
    refused({{name, job.token()}, {"Host", "evil.example"}}, "Host is none of ours");
  }
  EXPECT_TRUE(call(job.api_port(), "POST", "/v1/job/drain", {{name, job.token()}}).ok());
  EXPECT_TRUE(call(job.api_port(), "GET", "/v1/job", {}).ok());
  EXPECT_THAT(job.LogOf("ps-0"),
              AllOf(HasSubstr("API refused a call"), Not(HasSubstr(job.token()))));
}

TEST(TcpTest, WithNeitherTlsNorTokenNobodyChangesTheJob) {
  const TestFolder folder;
  TcpJob job(folder, {.manifest = DigitsManifest(), .has_tls = false});
  job.StartPs(0, {"--token-file", ""});
  ASSERT_TRUE(job.WaitForLog("ps-0", "coordinating"));
  EXPECT_THAT(job.LogOf("ps-0"), HasSubstr("nobody may change this job"));
  EXPECT_EQ(job.Call("POST", "/v1/job/drain", R"({"workers": [0]})").status().code(),
            StatusCode::kUnavailable);
}

TEST(TcpTest, ProgramThatCrashesSaysWhere) {
  const TestFolder folder;
  TcpJob job(folder, {.manifest = DigitsManifest(), .has_tls = false});
  job.StartWorker(0);
  ASSERT_TRUE(job.WaitForLog("worker-0", "waiting for a peer"));
  job.Signal("worker-0", SIGSEGV);
  EXPECT_EQ(job.WaitExit("worker-0"), 128 + SIGSEGV);
  EXPECT_THAT(job.LogOf("worker-0"),
              AllOf(HasSubstr("SIGSEGV received"), HasSubstr("paceline::rpc::WaitForPeer"),
                    HasSubstr("paceline-worker(+0x")));
  job.StartPs(0);
  ASSERT_TRUE(job.WaitForLog("ps-0", "coordinating"));
  job.Signal("ps-0", SIGSEGV);
  EXPECT_EQ(job.WaitExit("ps-0"), 128 + SIGSEGV);
  EXPECT_THAT(job.LogOf("ps-0"),
              AllOf(HasSubstr("SIGSEGV received"), HasSubstr("paceline::ps::RunCoordinator")));
}

TEST(TcpTest, AddressThatNobodyCanDialIsRefused) {
  const TestFolder folder;
  TcpJob job(folder, {.manifest = DigitsManifest(), .has_tls = false});
  job.StartPs(0, {"--advertise", ""});
  EXPECT_EQ(job.WaitExit("ps-0"), 2);
  EXPECT_THAT(job.LogOf("ps-0"), HasSubstr("--advertise has to say what can"));
}

TEST(TcpTest, NameThatNeverResolvesIsGivenUpInTime) {
  const TestFolder folder;
  TcpJob job(folder, {.manifest = DigitsManifest(), .has_tls = false});
  job.StartWorker(
      0, {"--coordinator", "t-ps-0.t.default.svc.invalid:7600", "--connect-timeout-seconds", "2"});
  EXPECT_EQ(job.WaitExit("worker-0"), 1);
  EXPECT_THAT(job.LogOf("worker-0"), HasSubstr("coordinator cannot be reached: cannot reach "
                                               "t-ps-0.t.default.svc.invalid:7600 within 2.0 s: "));
}

}  // namespace
}  // namespace paceline::integration
