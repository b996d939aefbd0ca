// What may go wrong around the operator: it is killed, the API server is, watches are cut, somebody
// else writes at the same time. No pod is ever made twice.

#include <atomic>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "lib/base/base64.h"
#include "lib/base/rfc3339.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "lib/tls/certificate.h"
#include "operator/controller/resources.h"
#include "tests/operator/job.h"
#include "tests/operator/writes.h"

namespace paceline::operator_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FaultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    world_ = World::Get();
    if (world_ == nullptr) GTEST_SKIP() << "no kube-apiserver and etcd";
  }

  std::unique_ptr<OperatorProcess> Operator(std::vector<std::string> arguments = {
                                                "--leader-elect=false"}) {
    return std::make_unique<OperatorProcess>(*world_, arguments);
  }

  Json TlsSecret(const Job& job, const std::string& role) const {
    const auto secret = world_->client().Call(kube::Get(
        kube::Secrets(), {job.name_space(), fmt::format("{}-{}-tls-0", job.name(), role)}));
    EXPECT_TRUE(secret.ok()) << secret.status();
    return secret.ok() ? *secret : Json::object();
  }

  // From now on a quota refuses each pod in the job's namespace.
  void AdmitNoPods(const Job& job) {
    world_->Kubectl(fmt::format("create quota -n {} none --hard=pods=0", job.name_space()));
    // As its controller would.
    world_->Kubectl(fmt::format("patch quota -n {} none --subresource=status --type=merge -p '{}'",
                                job.name_space(),
                                R"({"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}})"));
    const kube::Request probe = kube::Create(
        kube::Pods(), {{"metadata", {{"generateName", "probe-"}, {"namespace", job.name_space()}}},
                       {"spec", {{"containers", Json::array({{{"name", "a"}, {"image", "a"}}})}}}});
    ASSERT_TRUE(Eventually([&] { return !world_->client().Call(probe).ok(); }));
  }

  World* world_ = nullptr;
};

// PEM.
std::string Authority(const Json& secret) {
  return DecodeBase64(kube::StringAt(secret, "/data/ca.crt")).value_or("");
}

TEST_F(FaultsTest, AtRestNothingIsWrittenButTheLease) {
  const auto the_operator = Operator({"--leader-elect=true"});
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  job.RunAll();
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));
  Job over(*world_, "over");
  ASSERT_TRUE(over.WaitForPods(over.AllPodNames()));
  over.RunAll();
  over.End("over-ps-0", 2, "no such file");
  ASSERT_TRUE(over.WaitForCondition("Failed"));
  ASSERT_TRUE(over.WaitForPods({"over-ps-0"}));
  // Nothing listens where its coordinator should, which is said once.
  ASSERT_TRUE(job.WaitForMessage("Degraded", "let the operator reach", 60));
  const Writes writes(world_->server().audit_log());
  ASSERT_TRUE(writes.WaitForQuiet(60));
  const size_t from = writes.LinesSoFar();
  // A minute, because what is written too often may be written every ten seconds; by the operator's
  // own clock, for a log without it would prove nothing.
  ASSERT_TRUE(writes.WaitForRenewals(from, 60));
  for (const std::string& write : writes.Since(from)) ADD_FAILURE() << write;
}

TEST_F(FaultsTest, AKilledOperatorsPlaceIsTakenAndNoPodIsMadeTwice) {
  auto first = Operator({"--leader-elect=true", "--identity=first"});
  ASSERT_TRUE(first->WaitForText("\"leading\""));
  auto second = Operator({"--leader-elect=true", "--identity=second"});
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  job.RunAll();
  const auto before = job.Pods();
  first->Signal(SIGKILL);
  ASSERT_TRUE(first->WaitForEnd(10).has_value());
  job.End("digits-worker-1", 137, "", "Error");
  ASSERT_TRUE(second->WaitForText("\"leading\"", 60));
  ASSERT_TRUE(Eventually([&] {
    const auto pods = job.Pods();
    return pods.contains("digits-worker-1") &&
           kube::Uid(pods.at("digits-worker-1")) != kube::Uid(before.at("digits-worker-1"));
  })) << job.Describe();
  for (const auto& [name, pod] : job.Pods()) {
    if (name == "digits-worker-1") continue;
    EXPECT_EQ(kube::Uid(pod), kube::Uid(before.at(name))) << name;
  }
}

// As one leaves them that is killed between making the first pods and writing the first status.
TEST_F(FaultsTest, PodsThatNoStatusTellsOfAreTakenUp) {
  auto first = Operator();
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  job.RunAll();
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));
  const auto before = job.Pods();
  first->Signal(SIGKILL);
  ASSERT_TRUE(first->WaitForEnd(10).has_value());
  world_->Kubectl(fmt::format("patch tj -n {} digits --subresource=status --type=merge -p '{}'",
                              job.name_space(), R"({"status": null})"));
  ASSERT_FALSE(job.Get().contains("status"));

  const auto second = Operator();
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady")) << job.Describe();
  EXPECT_EQ(job.Get()["status"]["coordinatorStarts"], 1);
  for (const auto& [name, pod] : job.Pods())
    EXPECT_EQ(kube::Uid(pod), kube::Uid(before.at(name))) << name;
}

TEST_F(FaultsTest, AnOperatorThatEndsGivesTheLeadBack) {
  auto first = Operator({"--leader-elect=true", "--identity=first"});
  ASSERT_TRUE(first->WaitForText("\"leading\""));
  auto second = Operator({"--leader-elect=true", "--identity=second"});
  ASSERT_TRUE(second->WaitForText("leader seen"));
  first->Signal(SIGTERM);
  EXPECT_EQ(first->WaitForEnd(20), 0);
  EXPECT_TRUE(second->WaitForText("\"leading\"", 10));  // Long before the lease runs out.
}

TEST_F(FaultsTest, TwoOperatorsThatDoNotKnowOfEachOtherDoNoHarm) {
  const auto first = Operator(), second = Operator();
  std::vector<std::unique_ptr<Job>> jobs;
  for (int i = 0; i < 5; ++i)
    jobs.push_back(std::make_unique<Job>(*world_, fmt::format("job{}", i)));
  for (const auto& job : jobs) {
    ASSERT_TRUE(job->WaitForPods(job->AllPodNames()));
    job->RunAll();
    EXPECT_TRUE(job->WaitForCondition("ResourcesReady"));
  }
  // Their certificates come from one authority.
  for (const auto& job : jobs) {
    const Json server = TlsSecret(*job, "ps"), worker = TlsSecret(*job, "worker");
    EXPECT_TRUE(tls::AreSameAuthority(Authority(server), Authority(worker))) << job->name();
  }
}

TEST_F(FaultsTest, CertificatesAreGoodForTheNextOperator) {
  auto first = Operator();
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const Json server = TlsSecret(job, "ps"), worker = TlsSecret(job, "worker");
  first.reset();
  const auto second = Operator();
  job.RunAll();
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));
  EXPECT_EQ(TlsSecret(job, "ps"), server);
  EXPECT_EQ(TlsSecret(job, "worker"), worker);
}

TEST_F(FaultsTest, EachProcessHasACertificateOfItsOwnAheadToMaxReplicas) {
  auto first = Operator();
  Job job(*world_, "digits", {{"workers", {{"replicas", 2}, {"maxReplicas", 3}}}});
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const auto names = [&](const std::string& role, const std::string& index) {
    const std::string key = "/data/" + index + ".crt";
    const std::string pem = DecodeBase64(kube::StringAt(TlsSecret(job, role), key)).value_or("");
    const auto certificate = tls::ReadCertificate(pem);
    return certificate.ok() ? certificate->dns_names : std::vector<std::string>();
  };
  const auto name = [&](const std::string& process) {
    return std::vector<std::string>{fmt::format("{}.digits.{}", process, job.name_space())};
  };
  for (const std::string index : {"0", "1", "2"})
    EXPECT_EQ(names("worker", index), name("worker-" + index));
  EXPECT_EQ(names("worker", "3"), std::vector<std::string>());
  EXPECT_EQ(names("ps", "1"), name("ps-1"));
  // Of a raised bound the rest is issued before a pod wants it, and what there is stays.
  const Json before = TlsSecret(job, "worker");
  job.Patch({{"spec", {{"workers", {{"replicas", 4}, {"maxReplicas", 4}}}}}});
  ASSERT_TRUE(job.WaitForPods({"digits-ps-0", "digits-ps-1", "digits-worker-0", "digits-worker-1",
                               "digits-worker-2", "digits-worker-3"}));
  EXPECT_EQ(names("worker", "3"), name("worker-3"));
  EXPECT_EQ(TlsSecret(job, "worker")["data"]["2.key"], before["data"]["2.key"]);
  // What somebody has changed is made anew by the next operator.
  first.reset();
  world_->Kubectl(fmt::format("patch secret -n {} digits-worker-tls-0 --type=merge -p '{}'",
                              job.name_space(), R"({"data": {"2.crt": "bm9uZQ=="}})"));
  const auto second = Operator();
  EXPECT_TRUE(Eventually([&] { return names("worker", "2") == name("worker-2"); }));
}

// Pods had no label that names their group once.
TEST_F(FaultsTest, PodsAndCertificatesOfAnOlderOperatorAreTakenAsTheyAre) {
  auto first = Operator();
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  job.RunAll();
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));
  const Writes writes(world_->server().audit_log());
  ASSERT_TRUE(writes.WaitForQuiet(60));
  const size_t from = writes.LinesSoFar();
  const Json server = TlsSecret(job, "ps"), worker = TlsSecret(job, "worker");
  for (const auto& [name, pod] : job.Pods())
    EXPECT_EQ(kube::Label(pod, "paceline.dev/group"),
              name.starts_with("digits-ps") ? "ps" : "worker");
  world_->Kubectl(fmt::format("label pods -n {} -l paceline.dev/job=digits paceline.dev/group-",
                              job.name_space()));
  const auto before = job.Pods();
  EXPECT_TRUE(writes.WaitForQuiet(60));
  first.reset();
  const auto second = Operator();
  ASSERT_TRUE(second->WaitForText("\"leading\""));
  EXPECT_TRUE(writes.WaitForQuiet(60));
  for (const std::string& write : writes.Since(from)) {
    // An operator that starts tries to make the token, and finds that it is there.
    if (write.starts_with("create") && write.find("/secrets") != std::string::npos) continue;
    ADD_FAILURE() << write;
  }
  EXPECT_EQ(job.Pods(), before);
  EXPECT_EQ(TlsSecret(job, "ps"), server);
  EXPECT_EQ(TlsSecret(job, "worker"), worker);
  // They are its processes all the same.
  job.End("digits-worker-1", 1, "cannot allocate");
  ASSERT_TRUE(Eventually([&] {
    const auto pods = job.Pods();
    return pods.contains("digits-worker-1") &&
           kube::Label(pods.at("digits-worker-1"), "paceline.dev/group") == "worker";
  })) << job.Describe();
  for (const auto& [name, pod] : job.Pods()) {
    if (name == "digits-worker-1") continue;
    EXPECT_EQ(pod, before.at(name));
  }
}

TEST_F(FaultsTest, WithoutMtlsThereIsATokenAndAConditionSaysSo) {
  auto first = Operator();
  Job job(*world_, "digits", {{"security", {{"mtls", "Disabled"}}}});
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  EXPECT_TRUE(job.WaitForMessage("Created", "pushes, pulls and the token"));
  const auto token = [&] {
    const auto secret =
        world_->client().Call(kube::Get(kube::Secrets(), {job.name_space(), "digits-token"}));
    EXPECT_TRUE(secret.ok()) << secret.status();
    return secret.ok() ? kube::StringAt(*secret, "/data/token") : "";
  };
  const std::string before = token();
  EXPECT_EQ(DecodeBase64(before).value_or("").size(), 64u);
  const auto secrets = world_->client().ListAll(kube::Secrets(), {.name_space = job.name_space()});
  ASSERT_TRUE(secrets.ok()) << secrets.status();
  EXPECT_EQ(secrets->items.size(), 1u);
  // Another one is put right by the next operator, which has the same.
  first.reset();
  world_->Kubectl(fmt::format("patch secret -n {} digits-token --type=merge -p '{}'",
                              job.name_space(), R"({"data": {"token": "bm9uZQ=="}})"));
  const auto second = Operator();
  EXPECT_TRUE(Eventually([&] { return token() == before; }));
}

TEST_F(FaultsTest, ADamagedSeedIsToldAndADeletedOneMeansAnotherInstallation) {
  const std::string home = world_->NewNamespace();
  const kube::ObjectKey seed{home, "paceline-operator-authority"};
  const std::vector<std::string> arguments = {"--leader-elect=false",
                                              "--operator-namespace=" + home};
  auto first = Operator(arguments);
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const std::string before = Authority(TlsSecret(job, "ps"));
  ASSERT_FALSE(before.empty());
  first.reset();

  world_->Kubectl(fmt::format("patch secret -n {} {} --type=merge -p '{}'", home, seed.name,
                              R"({"data": {"seed": "c2hvcnQ="}})"));
  const auto second = Operator(arguments);
  Job later(*world_, "later");
  EXPECT_TRUE(later.WaitForMessage("ResourcesReady", home + "/paceline-operator-authority"));
  EXPECT_TRUE(later.WaitForMessage("ResourcesReady", "data.seed has 5 bytes, want 32 or more"));
  EXPECT_EQ(Authority(TlsSecret(job, "ps")), before);  // Nothing is lost by it.

  ASSERT_TRUE(world_->client().Call(kube::Delete(kube::Secrets(), seed)).ok());
  EXPECT_TRUE(later.WaitForPods(later.AllPodNames()));  // Without another start of the operator.
  // What trusts the former authority runs on with it, and has to be adopted.
  ASSERT_TRUE(second->WaitForText("job of another installation left alone"));
  EXPECT_THAT(second->Log(), HasSubstr("start this one with --adopt="));
  EXPECT_EQ(Authority(TlsSecret(job, "ps")), before);
}

TEST_F(FaultsTest, AnOperatorOfOneNamespaceNeedsNoRightInAnother) {
  Job job(*world_, "digits"), foreign(*world_, "foreign");
  const std::string home = world_->NewNamespace();
  const OperatorProcess confined(
      *world_, {"--operator-namespace=" + home, "--namespace=" + job.name_space()},
      world_->ConfinedKubeconfig(home, job.name_space()));
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames())) << confined.Log();
  job.RunAll();
  EXPECT_TRUE(job.WaitForCondition("ResourcesReady"));
  EXPECT_TRUE(foreign.Pods().empty());
  EXPECT_FALSE(foreign.Get().contains("status"));
  EXPECT_THAT(confined.Log(), Not(HasSubstr("cannot")));
}

TEST_F(FaultsTest, TheApiServerMayGoAndForget) {
  const auto the_operator = Operator();
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const auto before = job.Pods();
  world_->server().KillApiServer();
  ASSERT_TRUE(world_->server().StartApiServer().ok());
  ASSERT_TRUE(world_->server().CompactEtcd().ok());  // Watches cannot go on from where they were.
  ASSERT_TRUE(Eventually([&] { return !job.Get().is_null(); }));
  job.RunAll();
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));
  Job later(*world_, "later");
  ASSERT_TRUE(later.WaitForPods(later.AllPodNames()));
  for (const auto& [name, pod] : job.Pods())
    EXPECT_EQ(kube::Uid(pod), kube::Uid(before.at(name))) << name;
}

TEST_F(FaultsTest, TwoHundredForeignWritesInBetweenDoNoHarm) {
  const auto the_operator = Operator();
  Job job(*world_, "digits");
  std::thread disturber([&] {
    for (int i = 0; i < 200; ++i)
      job.Patch({{"metadata", {{"annotations", {{"example.com/count", std::to_string(i)}}}}}});
  });
  EXPECT_TRUE(job.WaitForPods(job.AllPodNames()));
  job.RunAll();
  disturber.join();
  EXPECT_TRUE(job.WaitForCondition("ResourcesReady"));
  EXPECT_EQ(job.Pods().size(), job.AllPodNames().size());
}

TEST_F(FaultsTest, RefusedPodsAreAskedForLessAndLessAndToldOnce) {
  const auto the_operator = Operator();
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  job.RunAll();
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));
  const auto starts = [&job] { return job.Get()["status"]["coordinatorStarts"].get<int>(); };
  ASSERT_EQ(starts(), 1);
  AdmitNoPods(job);
  const Writes writes(world_->server().audit_log());
  const size_t from = writes.LinesSoFar();
  for (const std::string pod : {"digits-ps-0", "digits-worker-1"})
    world_->Kubectl(
        fmt::format("delete pod -n {} {} --grace-period=0 --force", job.name_space(), pod));
  ASSERT_TRUE(job.WaitForMessage("ResourcesReady", "exceeded quota"));
  // Both are asked for once, then one of them, 0.1 s later, 0.2, 0.4...: eight times in six
  // seconds.
  EXPECT_TRUE(Eventually([&] { return writes.PodsAskedFor(from) >= 8; }, 60));
  EXPECT_TRUE(job.WaitForMessage("ResourcesReady", "exceeded quota"));
  int status_writes = 0, events = 0;
  for (const std::string& write : writes.Since(from)) {
    status_writes += write.find("/status") != std::string::npos;
    events += write.find("/events") != std::string::npos;
  }
  EXPECT_LE(writes.PodsAskedFor(from), 12u);
  EXPECT_LE(status_writes, 5);
  EXPECT_LE(events, 6);
  EXPECT_EQ(starts(), 2);
  world_->Kubectl(fmt::format("delete quota -n {} none", job.name_space()));
  EXPECT_TRUE(job.WaitForPods(job.AllPodNames()));
  EXPECT_EQ(starts(), 2);
}

TEST_F(FaultsTest, ADeadlineEndsAJobWhosePodsAreRefusedFromTheStart) {
  const auto the_operator = Operator();
  Job job(*world_, "digits", {{"runPolicy", {{"suspend", true}, {"activeDeadlineSeconds", 12}}}});
  ASSERT_TRUE(job.WaitForCondition("Suspended"));
  AdmitNoPods(job);
  job.Patch({{"spec", {{"runPolicy", {{"suspend", false}}}}}});
  ASSERT_TRUE(job.WaitForMessage("ResourcesReady", "exceeded quota"));
  ASSERT_TRUE(job.WaitForCondition("Failed", "True", 60));
  const Json status = job.Get()["status"];
  const auto started = ParseTime(status["startTime"].get<std::string>()),
             ended = ParseTime(status["completionTime"].get<std::string>());
  ASSERT_TRUE(started && ended);
  EXPECT_LE(ToSeconds(*ended - *started), 12 + 4) << "not at the next time that pods are asked for";
}

TEST_F(FaultsTest, AnOwnerDeletedWhileItIsMadeLeavesTheOperatorWell) {
  const auto the_operator = Operator();
  for (int i = 0; i < 5; ++i) {
    Job job(*world_, "fleeting", {{"workers", {{"replicas", 20}}}});
    job.Delete();
  }
  Job job(*world_, "digits");
  EXPECT_TRUE(job.WaitForPods(job.AllPodNames()));
}

}  // namespace
}  // namespace paceline::operator_test
