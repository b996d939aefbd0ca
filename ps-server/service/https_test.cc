// An HTTPS endpoint that demands a client's certificate, asked by clients good and bad.
#include <condition_variable>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "lib/telemetry/http_endpoint.h"
#include "lib/telemetry/http_get.h"
#include "lib/telemetry/listening_socket.h"
#include "lib/tls/identity.h"
#include "lib/tls/sessions.h"
#include "lib/tls/testing.h"

namespace paceline::ps {
namespace {

using telemetry::HttpEndpoint;
using ::testing::AllOf;
using ::testing::HasSubstr;
using tls::Credential;
using tls::testing::Around;
using tls::testing::IssuedFolder;
using tls::testing::kNow;

constexpr const char* kPs = "ps-0.digits.default";
constexpr const char* kOperator = "operator.digits.default";

class HttpsTest : public ::testing::Test {
 protected:
  HttpsTest() : ps_(authority_, kPs) {
    identity_ = *tls::ServerIdentity::Load(ps_.folder(), [this](const std::string& reason) {
      std::lock_guard lock(mutex_);
      refusals_ += reason + "\n";
      refused_.notify_all();
    });
    const auto answer = [](const telemetry::HttpRequest& request) {
      return telemetry::HttpAnswer{.body = request.method + " " + request.body};
    };
    auto endpoint = HttpEndpoint::Start(
        {.routes = {{"/v1/job", answer}, {"/v1/job/spec", answer, "PUT"}},
         .https = telemetry::HttpsHooks{
             .set_up = [this](ssl_ctx_st* context) { return identity_->SetUp(context); },
             .admit = [](const ssl_st* session) -> Status {
               const auto names = tls::PeerDnsNames(session);
               if (names == std::vector<std::string>{kOperator}) return OkStatus();
               return PermissionDenied("got {}", names.empty() ? "nobody" : names[0]);
             }}});
    EXPECT_TRUE(endpoint.ok()) << endpoint.status();
    endpoint_ = *std::move(endpoint);
  }

  StatusOr<std::string> Ask(const IssuedFolder& as, const std::string& peer = kPs) {
    return telemetry::HttpSend(
        {.host = "127.0.0.1",
         .port = endpoint_->port(),
         .path = "/v1/job",
         .https =
             telemetry::HttpsClientHooks{
                 .set_up = [&](ssl_ctx_st* c) { return tls::SetUpClient(c, as.folder(), peer); },
                 .why = tls::TakeError}},
        Seconds(10));
  }

  std::string Refusals() {
    std::lock_guard lock(mutex_);
    return refusals_;
  }
  // A client knows of a failure before the server does.
  void AwaitRefusal(const std::string& reason) {
    std::unique_lock lock(mutex_);
    const bool was_said = refused_.wait_for(lock, std::chrono::seconds(30), [&] {
      return refusals_.find(reason) != std::string::npos;
    });
    EXPECT_TRUE(was_said) << reason << " in " << refusals_;
  }

  const Credential authority_ =
      tls::testing::Authority("job digits", Around(std::chrono::hours(2), std::chrono::hours(48)));
  IssuedFolder ps_;
  std::mutex mutex_;
  std::string refusals_;
  std::condition_variable refused_;
  std::unique_ptr<tls::ServerIdentity> identity_;
  std::unique_ptr<HttpEndpoint> endpoint_;
};

TEST_F(HttpsTest, OperatorIsAnswered) {
  const IssuedFolder oper(authority_, kOperator);
  const auto answer = Ask(oper);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, "GET ");
  EXPECT_EQ(Refusals(), "");
}

// Some say nothing at all, some stop within the handshake.
TEST_F(HttpsTest, WhoDoesNotShakeHandsHoldsUpNobody) {
  std::vector<telemetry::OwnedSocket> strangers;
  for (int i = 0; i < 200; ++i) {
    strangers.emplace_back(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(endpoint_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(
        connect(strangers.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const std::string_view begun = i % 2 == 0 ? "\x16\x03\x01\x02" : "";
    EXPECT_GE(send(strangers.back().get(), begun.data(), begun.size(), 0), 0);
  }
  const IssuedFolder oper(authority_, kOperator);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(oper).value_or(""), "GET ");
}

TEST_F(HttpsTest, AnotherRoleIsForbidden) {
  const IssuedFolder worker(authority_, "worker-3.digits.default");
  const auto answer = Ask(worker);
  EXPECT_EQ(answer.status().code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(answer.status()), HasSubstr("got worker-3.digits.default"));
}

TEST_F(HttpsTest, ClientOfAnotherAuthorityIsRefused) {
  const Credential stranger = tls::testing::Authority("stranger", kNow);
  const IssuedFolder forged;
  forged.Write(tls::testing::Issued(stranger, {kOperator}, kNow), authority_.certificate);
  const auto answer = Ask(forged);
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  AwaitRefusal("handshake failed: unable to get local issuer certificate");
}

TEST_F(HttpsTest, ClientThatExpiredIsRefused) {
  const IssuedFolder oper(authority_, kOperator,
                          Around(std::chrono::minutes(30), -std::chrono::minutes(10)));
  EXPECT_EQ(Ask(oper).status().code(), StatusCode::kUnavailable);
  AwaitRefusal("handshake failed: certificate has expired");
}

TEST_F(HttpsTest, ClientWithoutCertificateIsRefused) {
  const auto answer = telemetry::HttpSend(
      {.host = "127.0.0.1",
       .port = endpoint_->port(),
       .path = "/v1/job",
       .https = telemetry::HttpsClientHooks{.set_up = [](ssl_ctx_st*) { return OkStatus(); },
                                            .why = tls::TakeError}},
      Seconds(10));
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  AwaitRefusal("peer did not return a certificate");
}

TEST_F(HttpsTest, PlainTextIsRefused) {
  const auto answer = telemetry::HttpGet("127.0.0.1", endpoint_->port(), "/v1/job", Seconds(10));
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  AwaitRefusal("handshake failed: http request");
}

TEST_F(HttpsTest, ServerOfAnotherRoleOrAuthorityIsRefused) {
  const IssuedFolder oper(authority_, kOperator);
  const auto wrong_role = Ask(oper, "ps.other.default");
  EXPECT_EQ(wrong_role.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(wrong_role.status()), HasSubstr("certificate verify failed"));
  const Credential stranger = tls::testing::Authority("stranger", kNow);
  const IssuedFolder foreign(stranger, kOperator);
  EXPECT_THAT(Message(Ask(foreign).status()), HasSubstr("certificate verify failed"));
}

TEST_F(HttpsTest, RenewedFilesAreUsedAtTheNextHandshake) {
  const IssuedFolder oper(authority_, kOperator);
  const Credential next = tls::testing::Authority("job digits", kNow);
  // While both authorities are trusted, each end can be renewed by itself.
  const std::string both = authority_.certificate + next.certificate;
  ps_.Write(tls::testing::Issued(next, {kPs}, kNow), both);
  EXPECT_EQ(Ask(oper).status().code(), StatusCode::kUnavailable);  // It does not trust the new one.
  oper.Write(tls::testing::Issued(authority_, {kOperator}, kNow), both);
  EXPECT_TRUE(Ask(oper).ok());
  ps_.Write(tls::testing::Issued(next, {kPs}, kNow), next.certificate);
  EXPECT_EQ(Ask(oper).status().code(), StatusCode::kUnavailable);  // The old one is over.
  oper.Write(tls::testing::Issued(next, {kOperator}, kNow), next.certificate);
  const auto answer = Ask(oper);
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST_F(HttpsTest, FilesThatMakeNoSenseLeaveTheLastGoodOnes) {
  const IssuedFolder oper(authority_, kOperator);
  const Credential one = tls::testing::Issued(authority_, {kPs}, kNow);
  const Credential other = tls::testing::Issued(authority_, {kPs}, kNow);
  ps_.Write({one.certificate, other.key}, authority_.certificate);
  EXPECT_TRUE(Ask(oper).ok());
  AwaitRefusal("key and certificate are no pair");
}

TEST_F(HttpsTest, FolderOfTheClientIsChecked) {
  const IssuedFolder empty;
  const auto answer = Ask(empty);
  EXPECT_EQ(answer.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(answer.status()),
              AllOf(HasSubstr("https://127.0.0.1:"), HasSubstr("/tls.crt: No such file")));
}

}  // namespace
}  // namespace paceline::ps
