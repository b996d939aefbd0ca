#include "lib/telemetry/access_token.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lib/telemetry/http_get.h"

namespace paceline::telemetry {
namespace {

using testing::HasSubstr;

class AccessTokenTest : public testing::Test {
 protected:
  AccessTokenTest() {
    std::string name = testing::TempDir() + "paceline-token-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~AccessTokenTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& text) const {
    std::ofstream(folder_ + "/token") << text;
    return folder_ + "/token";
  }

  std::string folder_;
};

const std::string kText(64, 'a');

HttpRequest With(const std::string& header, const std::string& value) {
  HttpRequest request;
  request.method = "PUT";
  request.path = "/v1/job/spec";
  if (!header.empty()) request.headers = {{header, value}};
  return request;
}

TEST_F(AccessTokenTest, AdmitsTheTokenInEitherHeader) {
  const AccessToken token(File(kText + "\n"));
  EXPECT_TRUE(token.Admit(With("x-paceline-token", kText)).ok());
  EXPECT_TRUE(token.Admit(With("authorization", "Bearer " + kText)).ok());
}

TEST_F(AccessTokenTest, RefusesEverythingElse) {
  const AccessToken token(File(kText));
  std::string nearly = kText;
  nearly.back() = 'b';
  const struct {
    const char* name;
    HttpRequest request;
    const char* words;
  } cases[] = {
      {"nothing", With("", ""), "needs a token: show it as X-Pace"},
      {"empty", With("x-paceline-token", ""), "needs a token"},
      {"nearly", With("x-paceline-token", nearly), "the token is another one"},
      {"shorter", With("x-paceline-token", kText.substr(1)), "the token is another one"},
      {"longer", With("x-paceline-token", kText + "a"), "the token is another one"},
      {"another scheme", With("authorization", "Basic " + kText), "needs a token"},
      {"twice", With("x-paceline-token", kText + ", " + kText), "the token is another one"},
  };
  for (const auto& [name, request, words] : cases) {
    const Status status = token.Admit(request);
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << name;
    EXPECT_THAT(Message(status), HasSubstr(words)) << name;
  }
}

TEST_F(AccessTokenTest, FileWithoutATokenLetsNobodyIn) {
  for (const std::string& text : {std::string(), std::string("\n"), std::string(31, 'a'),
                                  std::string(40, ' '), "a b" + kText}) {
    const AccessToken token(File(text));
    EXPECT_EQ(token.Read().status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_FALSE(token.Admit(With("x-paceline-token", text)).ok()) << text;
  }
  const AccessToken missing(folder_ + "/none");
  EXPECT_EQ(missing.Admit(With("x-paceline-token", "")).code(), StatusCode::kNotFound);
}

TEST_F(AccessTokenTest, ReplacedFileCountsAtOnce) {
  const AccessToken token(File(kText));
  const std::string next(64, 'b');
  File(next);
  EXPECT_FALSE(token.Admit(With("x-paceline-token", kText)).ok());
  EXPECT_TRUE(token.Admit(With("x-paceline-token", next)).ok());
}

TEST_F(AccessTokenTest, NewOnesDifferAndAreTheirOwnersAlone) {
  const auto one = MakeToken(), other = MakeToken();
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE(*one, *other);
  const std::string file = folder_ + "/made";
  ASSERT_TRUE(WriteTokenFile(file, *one).ok());
  struct stat found {};
  ASSERT_EQ(stat(file.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_EQ(AccessToken(file).Read().value_or(""), *one);
  EXPECT_EQ(WriteTokenFile(file, *other).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(AccessToken(file).Read().value_or(""), *one);
  EXPECT_THAT(Message(WriteTokenFile(folder_ + "/none/token", *one)), HasSubstr("/none/token"));
}

TEST_F(AccessTokenTest, HeadersReachAnswerersOverHttp) {
  const AccessToken token(File(kText));
  const auto endpoint = HttpEndpoint::Start(
      {.routes = {{"/v1/job", [&](const HttpRequest& request) {
                     const Status status = token.Admit(request);
                     return HttpAnswer{.status = status.ok() ? 200 : 403, .body = Message(status)};
                   }}}});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  const auto get = [&](std::map<std::string, std::string> headers) {
    return HttpSend({.host = "127.0.0.1",
                     .port = (*endpoint)->port(),
                     .path = "/v1/job",
                     .headers = std::move(headers)},
                    Seconds(10))
        .status()
        .code();
  };
  EXPECT_EQ(get({{kTokenHeader, kText}}), StatusCode::kOk);
  EXPECT_EQ(get({{"AUTHORIZATION", "Bearer " + kText}}), StatusCode::kOk);
  EXPECT_EQ(get({}), StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace paceline::telemetry
