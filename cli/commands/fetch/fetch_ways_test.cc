// By which way paceline fetch gets a model where not every one is open, on a real API server.
//
// There are no nodes, so a program of the test's stands for kubectl, and says what the real one
// says.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "cli/commands/testing/cluster.h"
#include "lib/kube/testing/scripted_http.h"
#include "lib/process/read_file.h"
#include "lib/telemetry/listening_socket.h"

namespace paceline::commands {
namespace {

using kube::Json;
using kube::testing::ScriptedConnection;
using kube::testing::ScriptedHttp;
using kube::testing::ScriptedRequest;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kDead = "192.0.2.1";  // Nobody's, by RFC 5737.

class FetchWaysTest : public FetchTest {
 protected:
  // What its lines do.
  void MakeKubectl(const std::string& lines) const {
    const std::string file = programs() + "/kubectl";
    std::ofstream(file) << "#!/bin/sh\necho \"$@\" >> " << folder_ << "/calls\n" << lines << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  // One that forwards to what serves the model.
  void MakeGoodKubectl() const {
    MakeKubectl(fmt::format("echo 'Forwarding from 127.0.0.1:{} -> {}'\nexec /bin/sleep 600",
                            serving_.port(), serving_.port()));
  }
  std::string Calls() const { return process::ReadFile(folder_ + "/calls").value_or(""); }
  // A user who may read the job and what opens its model, and may do no more.
  void BecomeReader(Json more_rules = Json::array()) {
    Json rules = Json::array(
        {{{"apiGroups", {"paceline.dev"}}, {"resources", {"trainingjobs"}}, {"verbs", {"get"}}},
         {{"apiGroups", {""}}, {"resources", {"secrets"}}, {"verbs", {"get"}}}});
    rules.insert(rules.end(), more_rules.begin(), more_rules.end());
    kubeconfig_ = KubeconfigOf("reader", rules);
  }
  void ExpectModel(const Answered& fetched) {
    EXPECT_EQ(fetched.code, 0) << fetched.err;
    EXPECT_THAT(fetched.out, HasSubstr("3000000 bytes, SHA-256 " + serving_.sha256()));
    EXPECT_EQ(process::ReadFile(path()).value_or(""), serving_.content());
    EXPECT_EQ(serving_.Confirmed(), serving_.sha256());
  }
  static DownloadOptions Hasty() {
    return {.piece_deadline = Seconds(1),
            .patience = Seconds(0),
            .backoff_min = Seconds(0.01),
            .backoff_max = Seconds(0.01)};
  }
};

TEST_F(FetchWaysTest, ItSaysThatItGoesThroughTheApiServer) {
  Serve();
  MakeGoodKubectl();
  const Answered fetched = FetchIt();
  EXPECT_EQ(fetched.err,
            "paceline: it goes through the API server's proxy to pod " + ns_ + "/digits-ps-0\n");
  EXPECT_EQ(Calls(), "");
  ExpectModel(fetched);
}

TEST_F(FetchWaysTest, WhoMayNotUseTheProxyGoesByPortForward) {
  Serve();
  MakeGoodKubectl();
  BecomeReader();
  const Answered fetched = FetchIt();
  EXPECT_THAT(fetched.err, HasSubstr("nothing comes through the API server's proxy to pod " + ns_ +
                                     "/digits-ps-0: "));
  EXPECT_THAT(fetched.err, HasSubstr(R"(User "reader" cannot get resource "pods/proxy")"));
  EXPECT_THAT(fetched.err, HasSubstr("paceline: it goes by kubectl port-forward to pod " + ns_ +
                                     "/digits-ps-0\n"));
  EXPECT_EQ(Calls(), fmt::format("port-forward --address=127.0.0.1 --namespace={} --kubeconfig={} "
                                 "pod/digits-ps-0 :{}\n",
                                 ns_, kubeconfig_, port_));
  ExpectModel(fetched);
}

// An API server that reaches no pod: connections are refused, or nothing comes back at all.
TEST_F(FetchWaysTest, WhereTheProxyReachesNoPodItGoesByPortForward) {
  const int serving = serving_.port();
  {
    const auto nobody = telemetry::HttpEndpoint::Start({.host = "0.0.0.0"}).value();
    port_ = nobody->port();
  }
  Serve();
  MakeKubectl(
      fmt::format("echo 'Forwarding from 127.0.0.1:{} -> 7602'\nexec /bin/sleep 600", serving));
  const Answered fetched = FetchIt();
  EXPECT_THAT(fetched.err, HasSubstr("connection refused"));
  EXPECT_THAT(fetched.err, HasSubstr("it goes by kubectl port-forward"));
  ExpectModel(fetched);
}

// Who listens there takes no connection: what is sent waits.
TEST_F(FetchWaysTest, WhereTheProxyHangsItGoesByPortForward) {
  const auto silent = telemetry::ListenOn("0.0.0.0", 0);
  ASSERT_TRUE(silent.ok()) << silent.status();
  port_ = telemetry::PortOf(*silent);
  Serve();
  MakeGoodKubectl();
  const Answered fetched = FetchBy({.download = {.piece_deadline = Seconds(1)}});
  EXPECT_THAT(fetched.err, HasSubstr("nothing comes through the API server's proxy"));
  EXPECT_THAT(fetched.err, HasSubstr("timed out"));
  EXPECT_THAT(fetched.err, HasSubstr("it goes by kubectl port-forward"));
  ExpectModel(fetched);
}

TEST_F(FetchWaysTest, WhereNoWayIsOpenEachIsTold) {
  Serve();
  BecomeReader();
  const Answered without = FetchBy({.download = Hasty()});
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.err, HasSubstr("allow one of these ways, or name another with --url: "));
  EXPECT_THAT(without.err, HasSubstr("there is no kubectl in PATH"));
  MakeKubectl(
      "echo 'Error from server (Forbidden): pods \"digits-ps-0\" is forbidden' >&2; exit 1");
  const Answered forbidden = FetchBy({.download = Hasty()});
  EXPECT_EQ(forbidden.code, 2);
  EXPECT_THAT(forbidden.err, HasSubstr(R"(User "reader" cannot get resource "pods/proxy")"));
  EXPECT_THAT(forbidden.err,
              HasSubstr(R"(kubectl: Error from server (Forbidden): pods "digits-ps-0")"));
  MakeKubectl("echo 'error: unable to forward port because pod is not running' >&2; exit 1");
  const Answered not_running = FetchBy({.download = Hasty()});
  EXPECT_EQ(not_running.code, 1);  // Another time it may.
  EXPECT_THAT(not_running.err, HasSubstr("unable to forward port because pod is not running"));
  MakeKubectl("exec /bin/sleep 600");
  const Answered silent = FetchBy({.download = Hasty(), .port_forward_patience = Seconds(0.2)});
  EXPECT_EQ(silent.code, 1);
  EXPECT_THAT(silent.err, HasSubstr("kubectl does not listen after 0.2 s, and was stopped"));
  EXPECT_EQ(serving_.asked, 0);
}

TEST_F(FetchWaysTest, AWayThatIsNamedIsTheOnlyOne) {
  Serve();
  MakeGoodKubectl();
  BecomeReader();
  const Answered by_proxy = FetchBy({.via = Via::kProxy, .download = Hasty()});
  EXPECT_EQ(by_proxy.code, 2);
  EXPECT_THAT(by_proxy.err, HasSubstr(R"(User "reader" cannot get resource "pods/proxy")"));
  EXPECT_EQ(Calls(), "");
  kubeconfig_.clear();
  std::filesystem::remove(programs() + "/kubectl");
  const Answered by_port_forward = FetchBy({.via = Via::kPortForward, .download = Hasty()});
  EXPECT_EQ(by_port_forward.code, 2);
  EXPECT_THAT(by_port_forward.err, HasSubstr("there is no kubectl in PATH"));
  EXPECT_EQ(serving_.asked, 0);
}

TEST_F(FetchWaysTest, AKubectlThatReachesNobodyIsReplacedByAnother) {
  Serve();
  std::ofstream(folder_ + "/wrong") << "";
  // The first one has lost its pod, and goes on.
  MakeKubectl(fmt::format(
      "if [ -e {0}/wrong ]; then /bin/rm {0}/wrong; echo 'Forwarding from 127.0.0.1:1 -> 2'\n"
      "echo 'error: lost connection to pod' >&2; exec /bin/sleep 600; fi\n"
      "echo 'Forwarding from 127.0.0.1:{1} -> 2'; exec /bin/sleep 600",
      folder_, serving_.port()));
  DownloadOptions quick{.backoff_min = Seconds(0.01), .backoff_max = Seconds(0.01)};
  const Answered fetched = FetchBy({.via = Via::kPortForward, .download = quick});
  EXPECT_THAT(fetched.err, HasSubstr("kubectl: error: lost connection to pod"));
  EXPECT_THAT(fetched.err, HasSubstr("it goes by kubectl port-forward"));
  ExpectModel(fetched);
}

// Who may get, and not create, has the model by the proxy; that the job is told, port-forward does.
TEST_F(FetchWaysTest, WhatOneWayDoesNotDoAnotherDoes) {
  Serve();
  MakeGoodKubectl();
  BecomeReader(
      Json::array({{{"apiGroups", {""}}, {"resources", {"pods/proxy"}}, {"verbs", {"get"}}}}));
  const Answered fetched = FetchIt();
  EXPECT_THAT(fetched.err, HasSubstr("it goes through the API server's proxy"));
  EXPECT_THAT(fetched.err, HasSubstr(R"(cannot create resource "pods/proxy")"));
  EXPECT_THAT(fetched.err, HasSubstr("it goes by kubectl port-forward"));
  ExpectModel(fetched);
}

TEST_F(FetchWaysTest, AUrlIsAskedAndNobodyElse) {
  Serve(kDead);
  const Answered fetched =
      FetchBy({.url = {.url = fmt::format("http://127.0.0.1:{}", serving_.port())}});
  EXPECT_EQ(fetched.err,
            fmt::format("paceline: it goes by http://127.0.0.1:{}\n", serving_.port()));
  ExpectModel(fetched);
}

TEST_F(FetchWaysTest, AnHttpsAddressHasToProveItself) {
  Serve();
  const Answered unknown = FetchBy({.url = {.url = server_->url()}, .download = Hasty()});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("certificate"));
  const Answered known =
      FetchBy({.url = {.url = server_->url(), .certificate_authority = server_->ca_file()},
               .download = Hasty()});
  EXPECT_EQ(known.code, 2);  // It answers, and has no model for strangers.
  EXPECT_THAT(known.err, HasSubstr("system:anonymous"));
}

// The token is shown where it is safe, and the model is what the API server says it is.
TEST_F(FetchWaysTest, AUrlDoesNotLowerWhatProtectsTheModel) {
  Serve(kDead);
  const std::string elsewhere = fmt::format("http://{}:{}", OwnAddress(), serving_.port());
  const Answered refused = FetchBy({.url = {.url = elsewhere}});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("want https: the job's token and its model would travel as "
                                     "plain text to " +
                                     elsewhere));
  EXPECT_EQ(serving_.asked, 0);
  // No TLS there: nothing is shown.
  const Answered no_tls = FetchBy(
      {.url = {.url = fmt::format("https://127.0.0.1:{}", serving_.port())}, .download = Hasty()});
  EXPECT_EQ(no_tls.code, 1);
  EXPECT_EQ(serving_.asked, 0);
  // Nor at where it is sent on to.
  ScriptedHttp sends_on([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    connection.Answer(302, "", fmt::format("Location: {}{}\r\n", elsewhere, request.target));
  });
  const Answered sent_on = FetchBy({.url = {.url = sends_on.url()}, .download = Hasty()});
  EXPECT_EQ(sent_on.code, 1);
  EXPECT_THAT(sent_on.err, HasSubstr("no coordinator answers there: got 302 to " + elsewhere));
  EXPECT_EQ(serving_.asked, 0);
  // What is not the model is not kept.
  ScriptedHttp lies([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    const std::string bytes = request.target.substr(request.target.find("bytes=") + 6);
    connection.Answer(200, std::string(std::stoul(bytes), 'x'));
  });
  const Answered lied_to = FetchBy({.url = {.url = lies.url()}, .download = Hasty()});
  EXPECT_EQ(lied_to.code, 1);
  EXPECT_THAT(lied_to.err, HasSubstr("what came is not the model"));
  EXPECT_FALSE(std::filesystem::exists(path()));
  ExpectModel(FetchBy({.url = {.url = elsewhere, .plain_text = PlainText::kAnywhere}}));
}

}  // namespace
}  // namespace paceline::commands
