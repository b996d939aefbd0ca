// paceline top and ctl of a cluster's job, on a real API server.
#include "cli/commands/testing/cluster.h"

#include <string>
#include <utility>

#include "cli/commands/ctl.h"
#include "cli/commands/top.h"
#include "lib/base/testing/eventually.h"
#include "lib/telemetry/http_endpoint.h"

namespace paceline::commands {
namespace {

using kube::Json;
using ::testing::HasSubstr;

constexpr const char* kState =
    R"({"phase":"training","step":120,"epochProgress":2.5,"percent":50,"etaSeconds":30,"loss":0.25,)"
    R"("seconds":60,"samplesPerSecond":2913,"committedSamples":7000,"samplesBefore":0,)"
    R"("nonFinitePushes":0,"rollBacks":0,"lastRollBack":"","checkpoint":{"problem":"","note":""},)"
    R"("sync":{"scheme":"SSP","changing":false},"workers":[{"index":0,"isMember":true,"steps":60,)"
    R"("samples":3500,"computeShare":0.8,"waitShare":0.1,"communicationShare":0.1}]})";

class TopTest : public ClusterTest {
 protected:
  Answered TopOnce(const std::string& job = "digits") {
    return Captured([&] { return Top({.job = job, .cluster = Cluster(), .is_once = true}); });
  }
  Answered Set(std::vector<std::string> arguments) {
    return Captured(
        [&] { return CtlSet({.arguments = std::move(arguments), .cluster = Cluster()}); });
  }
  Json Spec() { return client_->Call(kube::Get(TrainingJobs(), {ns_, "digits"})).value()["spec"]; }
};

TEST_F(TopTest, TopShowsWhatTheCoordinatorSays) {
  const std::string address = OwnAddress();
  if (address.empty()) GTEST_SKIP() << "this machine has no address but loopback";
  const auto endpoint = telemetry::HttpEndpoint::Start(
      {.host = "0.0.0.0", .routes = {{"/v1/job", [](const telemetry::HttpRequest&) {
                                        return telemetry::HttpAnswer{.body = kState};
                                      }}}});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  port_ = (*endpoint)->port();
  MakeJob();
  SetStatus({{"state", "Running"}});
  MakePod(address);
  const Answered top = TopOnce();
  EXPECT_EQ(top.code, 0) << top.err;
  EXPECT_EQ(
      top.out,
      ns_ +
          "/digits: Running\n"
          "50 %  step 120  epoch 2.5  loss 0.2500  2,913 samples/s  ETA 0:30  SSP\n"
          "WORKER  STATE    DEVICE  THREADS  STEPS  SAMPLES  BATCH  COMPUTE  WAIT  COMMUNICATION\n"
          "     0  working                      60    3,500      0     80 %  10 %           10 "
          "%\n");

  // The least that a user needs: the job, and this port of this pod.
  const Json read_job = {
      {"apiGroups", {"paceline.dev"}}, {"resources", {"trainingjobs"}}, {"verbs", {"get"}}};
  const Json ask = {{"apiGroups", {""}},
                    {"resources", {"pods/proxy"}},
                    {"resourceNames", {"digits-ps-0:" + std::to_string(port_)}},
                    {"verbs", {"get"}}};
  kubeconfig_ = KubeconfigOf("watcher", Json::array({read_job, ask}));
  EXPECT_EQ(TopOnce().code, 0);
  kubeconfig_ = KubeconfigOf("reader", Json::array({read_job}));
  const Answered refused = TopOnce();
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr(R"(User "reader" cannot get resource "pods/proxy")"));
  kubeconfig_ = KubeconfigOf("nobody", Json::array());
  EXPECT_THAT(TopOnce().err, HasSubstr(R"(User "nobody" cannot get resource "trainingjobs")"));
}

TEST_F(TopTest, WithoutACoordinatorTopShowsTheStatus) {
  const Answered missing = TopOnce();
  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(missing.err, "paceline: no TrainingJob digits in namespace " + ns_ + "\n");

  MakeJob();
  SetStatus({{"state", "Unschedulable"}});
  const Answered waiting = TopOnce();
  EXPECT_EQ(waiting.code, 1);
  EXPECT_EQ(waiting.out, ns_ + "/digits: Unschedulable\n");
  EXPECT_THAT(waiting.err, HasSubstr("its coordinator does not answer: "));
  EXPECT_THAT(waiting.err, HasSubstr(R"(pods "digits-ps-0)"));

  MakePod(OwnAddress());  // Nobody listens there.
  EXPECT_THAT(TopOnce().err, HasSubstr("its coordinator does not answer: "));

  const auto condition = [](const char* type, const char* reason, const char* message) {
    return Json{{"type", type},
                {"status", "True"},
                {"reason", reason},
                {"message", message},
                {"observedGeneration", 1},
                {"lastTransitionTime", "2026-01-01T12:00:00Z"}};
  };
  SetStatus({{"state", "Suspended"},
             {"conditions", Json::array({condition("Suspended", "Suspended", "on demand")})}});
  const Answered suspended = TopOnce();
  EXPECT_EQ(suspended.code, 0) << suspended.err;
  EXPECT_EQ(suspended.out, ns_ + "/digits: Suspended\nSuspended: on demand\n");

  SetStatus({{"state", "Succeeded"},
             {"conditions", Json::array({condition("Succeeded", "TrainingSucceeded", "done")})}});
  // Ends by itself, as the job has.
  const Answered over = Captured([&] { return Top({.job = "digits", .cluster = Cluster()}); });
  EXPECT_EQ(over.code, 0) << over.err;
  EXPECT_THAT(over.out, HasSubstr("TrainingSucceeded: done\n"));
}

TEST_F(TopTest, CtlSetPatchesTheJob) {
  MakeJob();
  const Answered set = Set({"digits", "sync.scheme=SSP", "spec.sync.ssp.staleness=2"});
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_EQ(set.out, "taken over: spec.sync.scheme=SSP\ntaken over: spec.sync.ssp.staleness=2\n");
  EXPECT_EQ(Spec()["sync"]["scheme"], "SSP");
  EXPECT_EQ(Spec()["sync"]["ssp"]["staleness"], 2);
  EXPECT_THAT(Set({"digits", "sync.scheme=SSP"}).out, HasSubstr("is so already"));
}

TEST_F(TopTest, WhatIsRefusedChangesNothing) {
  EXPECT_EQ(Set({"digits", "sync.scheme=SSP"}).code, 2);  // There is no such job.
  MakeJob();
  const Json before = Spec();
  const Answered wrong = Set({"digits", "workers.replicas=9"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("spec.workers.maxReplicas"));
  const Answered fixed = Set({"digits", "training.seed=7"});  // The API server's to say.
  EXPECT_EQ(fixed.code, 2);
  EXPECT_THAT(fixed.err, HasSubstr("spec.training"));
  EXPECT_EQ(Set({"sync.scheme=SSP"}).code, 2);
  EXPECT_EQ(Set({"digits"}).code, 2);
  kubeconfig_ = KubeconfigOf("reader", Json::array({{{"apiGroups", {"paceline.dev"}},
                                                     {"resources", {"trainingjobs"}},
                                                     {"verbs", {"get"}}}}));
  const Answered forbidden = Set({"digits", "sync.scheme=SSP"});
  EXPECT_EQ(forbidden.code, 2);
  EXPECT_THAT(forbidden.err, HasSubstr(R"(User "reader" cannot patch resource "trainingjobs")"));
  EXPECT_EQ(Spec(), before);
}

TEST_F(TopTest, AClusterWithoutPacelineIsNamedSo) {
  ASSERT_TRUE(
      client_
          ->Call(kube::Delete(kube::CustomResourceDefinitions(), {"", "trainingjobs.paceline.dev"}))
          .ok());
  Answered top;
  EXPECT_TRUE(paceline::testing::Eventually(
      [&] {
        top = TopOnce();
        return top.err.find("not installed") != std::string::npos;
      },
      kPatienceSeconds))
      << top.err;
  EXPECT_EQ(top.code, 2);
  EXPECT_THAT(top.err, HasSubstr("the cluster knows no TrainingJobs"));
}

}  // namespace
}  // namespace paceline::commands
