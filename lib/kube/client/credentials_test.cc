#include "lib/kube/client/credentials.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/rfc3339.h"
#include "lib/base/testing/eventually.h"
#include "lib/kube/client/exec_plugin.h"

namespace paceline::kube {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const Time kStart = Time(Seconds(1000));
const Time kWall = *ParseTime("2026-01-31T09:30:00Z");

class CredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "credentials-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  // A plugin that is a shell script.
  void UsePlugin(const std::string& script) {
    Write("plugin.sh", script);
    config_.exec.command = "/bin/sh";
    config_.exec.arguments = {folder_ + "/plugin.sh"};
  }

  std::string folder_;
  Config config_;
  std::atomic<bool> is_stopping_ = false;
};

TEST_F(CredentialsTest, AFixedTokenIsABearer) {
  config_.token.data = "abc";
  EXPECT_EQ(Credentials(config_).Current(kStart, kWall)->value().authorization, "Bearer abc");
}

TEST_F(CredentialsTest, NameAndPasswordAreBasic) {
  config_.username = "user", config_.password = "pass";
  EXPECT_EQ(Credentials(config_).Current(kStart, kWall)->value().authorization,
            "Basic dXNlcjpwYXNz");
}

TEST_F(CredentialsTest, ATokenFileIsReadAgainAfterAMinuteOrARefusal) {
  config_.token.file = folder_ + "/token";
  Write("token", "one\n");
  Credentials credentials(config_);
  const auto now = [&](double seconds) {
    return credentials.Current(kStart + Seconds(seconds), kWall)->value().authorization;
  };
  EXPECT_EQ(now(0), "Bearer one");
  Write("token", "two\n");
  EXPECT_EQ(now(59), "Bearer one");
  EXPECT_EQ(now(60), "Bearer two");
  Write("token", "three");
  EXPECT_TRUE(credentials.Invalidate());
  EXPECT_EQ(now(61), "Bearer three");
  fs::remove(folder_ + "/token");
  EXPECT_EQ(now(200), "Bearer three");
}

TEST_F(CredentialsTest, AMissingTokenFileIsNamed) {
  config_.token.file = folder_ + "/token";
  const Status status = Credentials(config_).Current(kStart, kWall).status();
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(Message(status), HasSubstr(folder_ + "/token"));
}

TEST_F(CredentialsTest, AFolderIsNoTokenFile) {
  config_.token.file = folder_;
  const Status status = Credentials(config_).Current(kStart, kWall).status();
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(Message(status), HasSubstr(folder_));
}

TEST_F(CredentialsTest, APluginsAnswerIsUsedUntilShortlyBeforeItExpires) {
  config_.exec.command = "plugin";
  Credentials credentials(config_);
  EXPECT_FALSE(credentials.Current(kStart, kWall)->has_value());
  credentials.Adopt(
      {.token = "t", .client_certificate = "C", .client_key = "K", .expires = kWall + Seconds(60)});
  const Identity identity = credentials.Current(kStart, kWall)->value();
  EXPECT_EQ(identity.authorization, "Bearer t");
  EXPECT_EQ(identity.client_certificate.data, "C");
  EXPECT_EQ(identity.client_key.data, "K");
  EXPECT_FALSE(credentials.Current(kStart, kWall + Seconds(55))->has_value());
  credentials.Adopt({.token = "forever"});
  EXPECT_TRUE(credentials.Current(kStart, kWall + Seconds(1e6))->has_value());
  EXPECT_TRUE(credentials.Invalidate());
  EXPECT_FALSE(credentials.Current(kStart, kWall)->has_value());
}

TEST_F(CredentialsTest, APluginSeesItsEnvironmentAndTheCluster) {
  config_.server = "https://c";
  config_.exec.provide_cluster_info = true;
  config_.exec.environment = {{"WHO", "jane"}};
  UsePlugin(R"(
case "$KUBERNETES_EXEC_INFO" in *'"server":"https://c"'*) ;; *) echo "no cluster" >&2; exit 1;; esac
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",'
echo '"status":{"token":"of-'$WHO'","expirationTimestamp":"2030-01-01T00:00:00Z"}}'
)");
  const auto credential = RunExecPlugin(config_, is_stopping_);
  ASSERT_TRUE(credential.ok()) << credential.status();
  EXPECT_EQ(credential->token, "of-jane");
  EXPECT_EQ(credential->expires, ParseTime("2030-01-01T00:00:00Z"));
}

TEST_F(CredentialsTest, APluginThatFailsIsQuoted) {
  UsePlugin("echo 'please log in' >&2; exit 3");
  const Status status = RunExecPlugin(config_, is_stopping_).status();
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(Message(status), HasSubstr("please log in"));
}

TEST_F(CredentialsTest, AMissingPluginTellsItsHint) {
  config_.exec.command = folder_ + "/none";
  config_.exec.install_hint = "apt install none";
  EXPECT_THAT(Message(RunExecPlugin(config_, is_stopping_).status()),
              ::testing::AllOf(HasSubstr("No such file"), HasSubstr("apt install none")));
}

TEST_F(CredentialsTest, APluginThatHangsIsKilled) {
  UsePlugin("exec sleep 1000");
  config_.exec.timeout = Seconds(0.2);
  EXPECT_THAT(Message(RunExecPlugin(config_, is_stopping_).status()), HasSubstr("0.2 s"));
  config_.exec.timeout = Seconds(1000);
  is_stopping_ = true;
  EXPECT_FALSE(RunExecPlugin(config_, is_stopping_).ok());
}

TEST_F(CredentialsTest, APluginThatClosesItsPipesAndLivesOnIsKilled) {
  UsePlugin("exec >&- 2>&-; exec sleep 1000");
  config_.exec.timeout = Seconds(0.2);
  const Status status = RunExecPlugin(config_, is_stopping_).status();
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(Message(status), HasSubstr("did not end within 0.2 s"));
  config_.exec.timeout = Seconds(1000);
  is_stopping_ = true;
  EXPECT_FALSE(RunExecPlugin(config_, is_stopping_).ok());
}

TEST_F(CredentialsTest, WhatAPluginThatIsKilledHasStartedIsKilledToo) {
  UsePlugin("sleep 1000 & echo $! > " + folder_ + "/child; wait");
  config_.exec.timeout = Seconds(0.3);
  EXPECT_THAT(Message(RunExecPlugin(config_, is_stopping_).status()), HasSubstr("0.3 s"));
  pid_t child = 0;
  std::ifstream(folder_ + "/child") >> child;
  ASSERT_GT(child, 0);
  // It is gone, or whoever takes in orphans has not yet seen that it is.
  const auto state = [&] {
    std::string line;
    std::getline(std::ifstream(fmt::format("/proc/{}/stat", child)), line);
    return line.empty() ? 'Z' : line.at(line.rfind(')') + 2);
  };
  EXPECT_TRUE(paceline::testing::Eventually([&] { return state() == 'Z'; }));
}

TEST_F(CredentialsTest, APluginThatWantsATerminalIsRefused) {
  UsePlugin("true");
  config_.exec.needs_terminal = true;
  EXPECT_THAT(Message(RunExecPlugin(config_, is_stopping_).status()), HasSubstr("terminal"));
}

TEST(ExecCredentials, AreCheckedFieldByField) {
  const std::string v1 = "client.authentication.k8s.io/v1";
  const auto told = [&](const std::string& status, const std::string& kind = "ExecCredential") {
    return Message(
        ParseExecCredential(
            fmt::format(R"({{"apiVersion":"{}","kind":"{}","status":{}}})", v1, kind, status), v1)
            .status());
  };
  EXPECT_EQ(told(R"({"token":"a"})"), "");
  EXPECT_THAT(told("{}"), HasSubstr("neither token nor"));
  EXPECT_THAT(told(R"({"clientCertificateData":"a"})"), HasSubstr("only one of"));
  EXPECT_THAT(told(R"({"token":"a","expirationTimestamp":"soon"})"), HasSubstr("soon"));
  EXPECT_THAT(told("{}", "Pod"), HasSubstr("\"Pod\""));
  EXPECT_THAT(Message(ParseExecCredential("", v1).status()), HasSubstr("empty"));
  EXPECT_THAT(
      Message(ParseExecCredential(R"({"apiVersion":"v2","kind":"ExecCredential"})", v1).status()),
      HasSubstr("got v2"));
}

}  // namespace
}  // namespace paceline::kube
