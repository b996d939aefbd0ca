// Several installations of Paceline see the same jobs: one has each of them, the others leave it
// alone and say so; and a new one takes over what one that is gone has left.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/base64.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "lib/tls/certificate.h"
#include "operator/controller/resources.h"
#include "tests/operator/job.h"
#include "tests/operator/writes.h"

namespace paceline::operator_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kInstallation = "paceline.dev/installation";
constexpr const char* kSeed = "paceline-operator-authority";

class InstallationsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    world_ = World::Get();
    if (world_ == nullptr) GTEST_SKIP() << "no kube-apiserver and etcd";
    here_ = world_->NewNamespace();
    there_ = world_->NewNamespace();
  }

  // One in that namespace, with a seed of its own.
  std::unique_ptr<OperatorProcess> In(const std::string& home,
                                      std::vector<std::string> more = {"--leader-elect=false"}) {
    more.push_back("--operator-namespace=" + home);
    // As one that may hold Leases in any namespace.
    auto one = std::make_unique<OperatorProcess>(*world_, more, world_->server().kubeconfig());
    EXPECT_TRUE(one->WaitForText("\"operating\""));
    return one;
  }
  std::unique_ptr<OperatorProcess> Leading(const std::string& home,
                                           std::vector<std::string> more = {}) {
    more.push_back("--leader-elect=false");
    auto one = In(home, more);
    EXPECT_TRUE(one->WaitForText("\"leading\"")) << one->Log();
    return one;
  }
  // Says so, and as whose: others of before are there, too.
  static bool LeavesAlone(const OperatorProcess& one, const Job& job, const std::string& whose) {
    return one.WaitForText(
        fmt::format("\"{}/{}\",\"reason\":\"another installation of Paceline has this job ({});",
                    job.name_space(), job.name(), whose));
  }
  Json Object(const kube::Resource& resource, const Job& job, const std::string& name) const {
    const auto object = world_->client().Call(kube::Get(resource, {job.name_space(), name}));
    return object.ok() ? *object : Json();
  }
  std::string Claim(const Job& job) const {
    return kube::Annotation(Object(kube::ConfigMaps(), job, job.name() + "-job"), kInstallation);
  }
  void Unclaim(const Job& job) const {
    world_->Kubectl(fmt::format("annotate configmap -n {} {}-job {}-", job.name_space(), job.name(),
                                kInstallation));
  }
  // PEM.
  std::string Authority(const Job& job) const {
    return DecodeBase64(kube::StringAt(Object(kube::Secrets(), job, job.name() + "-ps-tls-0"),
                                       "/data/ca.crt"))
        .value_or("");
  }
  std::string Events(const Job& job) const {
    return world_->Kubectl("get events -o yaml -n " + job.name_space());
  }
  // Whoever has the job makes another pod in the place of this one.
  bool Replaces(const Job& job, const std::string& pod) const {
    const std::string before = kube::Uid(job.Pods().at(pod));
    world_->Kubectl(
        fmt::format("delete pod -n {} {} --grace-period=0 --force", job.name_space(), pod));
    return Eventually([&] {
      const auto pods = job.Pods();
      return pods.contains(pod) && kube::Uid(pods.at(pod)) != before;
    });
  }

  World* world_ = nullptr;
  std::string here_, there_;  // Namespaces of operators.
};

TEST_F(InstallationsTest, OneHasAJobAndTheOtherLeavesItAloneAndSaysSo) {
  const auto first = Leading(here_);
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  EXPECT_THAT(Claim(job), HasSubstr(here_ + "/paceline-operator/"));
  EXPECT_TRUE(
      Eventually([&] { return kube::StringAt(job.Get(), "/status/installation") == Claim(job); }));
  const Json policy = Object(kube::NetworkPolicies(), job, "digits");
  const std::string authority = Authority(job);

  const auto second = Leading(there_);
  ASSERT_TRUE(LeavesAlone(*second, job, Claim(job)));
  EXPECT_THAT(second->Log(), HasSubstr("--adopt=" + Claim(job)));
  EXPECT_TRUE(
      Eventually([&] { return Events(job).find("AnotherInstallation") != std::string::npos; }));
  job.RunAll();
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));
  EXPECT_TRUE(Replaces(job, "digits-worker-1"));
  EXPECT_EQ(kube::ResourceVersion(Object(kube::NetworkPolicies(), job, "digits")),
            kube::ResourceVersion(policy));
  EXPECT_EQ(Authority(job), authority);
  EXPECT_THAT(first->Log(), Not(HasSubstr("left alone")));
}

TEST_F(InstallationsTest, OfThoseThatComeAtOnceOneHasEach) {
  const auto first = Leading(here_), second = Leading(there_);
  std::vector<std::unique_ptr<Job>> jobs;
  for (int i = 0; i < 8; ++i)
    jobs.push_back(std::make_unique<Job>(*world_, fmt::format("job{}", i)));
  for (const auto& job : jobs) {
    ASSERT_TRUE(job->WaitForPods(job->AllPodNames())) << job->Describe();
    // All that it has is of one hand: the policy lets only that one's operators in.
    const std::string home = Claim(*job).substr(0, Claim(*job).find('/'));
    EXPECT_THAT((std::set<std::string>{here_, there_}), ::testing::Contains(home));
    EXPECT_THAT(Object(kube::NetworkPolicies(), *job, job->name()).dump(),
                HasSubstr(fmt::format("\"kubernetes.io/metadata.name\":\"{}\"", home)));
    EXPECT_THAT(Events(*job), Not(HasSubstr("belongs to somebody else")));
  }
  for (const auto& one : {first.get(), second.get()})
    EXPECT_THAT(one->Log(), Not(HasSubstr("reconcile failed")));
}

TEST_F(InstallationsTest, WhoMayEditAJobCannotChooseWhoHasIt) {
  const auto first = Leading(here_), second = Leading(there_);
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const std::string claim = Claim(job);
  const std::string wanted = "t0/paceline-operator/0123456789abcdef";
  job.Patch({{"metadata",
              {{"annotations", {{kInstallation, wanted}}}, {"labels", {{kInstallation, "x"}}}}}});
  world_->Kubectl(fmt::format("patch tj -n {} digits --subresource=status --type=merge -p '{}'",
                              job.name_space(),
                              Json{{"status", {{"installation", wanted}}}}.dump()));
  EXPECT_TRUE(
      Eventually([&] { return kube::StringAt(job.Get(), "/status/installation") == claim; }));
  EXPECT_EQ(Claim(job), claim);
  EXPECT_TRUE(Replaces(job, "digits-worker-1"));
}

// As jobs of a version before: their Secrets say whose they are.
TEST_F(InstallationsTest, AJobWithoutAClaimIsOfWhoMadeItsSecrets) {
  for (const char* const mtls : {"Enabled", "Disabled"}) {
    auto first = Leading(here_);
    Job job(*world_, "digits", {{"security", {{"mtls", mtls}}}});
    ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
    ASSERT_TRUE(Eventually([&] { return job.Get().contains("status"); }));
    const std::string claim = Claim(job);
    first.reset();
    Unclaim(job);
    {
      const auto second = Leading(there_);
      ASSERT_TRUE(LeavesAlone(*second, job, "unknown")) << mtls;
      EXPECT_EQ(Claim(job), "");
    }
    const auto third = Leading(here_);
    EXPECT_TRUE(Eventually([&] { return Claim(job) == claim; })) << mtls;
    EXPECT_TRUE(Replaces(job, "digits-worker-1")) << mtls;
    job.Delete();
  }
}

TEST_F(InstallationsTest, WhatIsGoneIsMadeAgainByWhoHasTheJob) {
  const auto first = Leading(here_);
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const std::string claim = Claim(job);
  const auto second = Leading(there_);
  ASSERT_TRUE(LeavesAlone(*second, job, claim));
  world_->Kubectl(fmt::format("delete configmap -n {} digits-job", job.name_space()));
  EXPECT_TRUE(Eventually([&] { return Claim(job) == claim; }));
  Unclaim(job);
  EXPECT_TRUE(Eventually([&] { return Claim(job) == claim; }));
}

TEST_F(InstallationsTest, WithoutItsSeedAJobIsAdoptedOnceItIsSuspended) {
  auto former = Leading(here_);
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  job.RunAll();
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));
  const std::string claim = Claim(job), authority = Authority(job);
  former.reset();
  const auto heir = Leading(there_, {"--adopt=" + claim});
  ASSERT_TRUE(LeavesAlone(*heir, job, claim));
  EXPECT_THAT(heir->Log(), HasSubstr("It is adopted once it is suspended"));
  EXPECT_EQ(Authority(job), authority);
  job.Patch({{"spec", {{"runPolicy", {{"suspend", true}}}}}});
  EXPECT_TRUE(Eventually([&] { return Claim(job).starts_with(there_ + "/"); })) << job.Describe();
  ASSERT_TRUE(Eventually([&] { return job.Pods().empty(); })) << job.Describe();
  job.Patch({{"spec", {{"runPolicy", {{"suspend", false}}}}}});
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames())) << job.Describe();
  EXPECT_FALSE(tls::AreSameAuthority(Authority(job), authority));
}

TEST_F(InstallationsTest, WithItsSeedAJobIsAdoptedAsItRuns) {
  auto former = Leading(here_);
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  job.RunAll();
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));
  const std::string claim = Claim(job);
  const Json secret = Object(kube::Secrets(), job, "digits-ps-tls-0");
  former.reset();
  Json seed = *world_->client().Call(kube::Get(kube::Secrets(), {here_, kSeed}));
  seed["metadata"] = {{"name", "seed-of-before"}, {"namespace", there_}};
  ASSERT_TRUE(world_->client().Call(kube::Create(kube::Secrets(), seed)).ok());
  const auto heir = Leading(there_, {"--adopt-seed=seed-of-before"});
  EXPECT_TRUE(Replaces(job, "digits-worker-1"));
  job.RunAll();
  // Who had it, should that one live yet, has it no more; and its seed is trusted.
  const std::string seed_of = claim.substr(claim.rfind('/'));
  EXPECT_EQ(Claim(job), there_ + "/paceline-operator" + seed_of);
  EXPECT_EQ(Object(kube::Secrets(), job, "digits-ps-tls-0"), secret);
  // A new life is the heir's own.
  job.Patch({{"spec", {{"runPolicy", {{"suspend", true}}}}}});
  EXPECT_TRUE(Eventually([&] {
    return Claim(job).starts_with(there_ + "/") && !Claim(job).ends_with(seed_of);
  })) << job.Describe();
}

TEST_F(InstallationsTest, ASeedToAdoptThatIsNotThereIsNamed) {
  auto former = Leading(here_);
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  former.reset();
  const auto heir = Leading(there_, {"--adopt-seed=nowhere"});
  EXPECT_TRUE(heir->WaitForText(there_ + "/nowhere"));
  Job own(*world_, "own");
  EXPECT_TRUE(own.WaitForPods(own.AllPodNames()));  // Others are none the worse.
}

// One Secret, one namespace; each has a Lease of its own.
TEST_F(InstallationsTest, TwoReleasesInOneNamespaceBothLead) {
  Job for_a(*world_, "a"), for_b(*world_, "b");
  const auto first = In(here_, {"--installation=a-operator", "--namespace=" + for_a.name_space()});
  ASSERT_TRUE(first->WaitForText("\"leading\""));
  const auto second = In(here_, {"--installation=b-operator", "--namespace=" + for_b.name_space()});
  ASSERT_TRUE(second->WaitForText("\"leading\"", 10));  // Long before a Lease runs out.
  for (const Job* const job : {&for_a, &for_b}) {
    EXPECT_TRUE(job->WaitForPods(job->AllPodNames()));
    EXPECT_THAT(Claim(*job), HasSubstr(fmt::format("{}/{}-operator/", here_, job->name())));
  }
}

TEST_F(InstallationsTest, AnOperatorOfAVersionBeforeIsWaitedFor) {
  const kube::ObjectKey former{here_, "paceline-operator"};
  ASSERT_TRUE(world_->client()
                  .Call(kube::Create(kube::Leases(),
                                     {{"apiVersion", "coordination.k8s.io/v1"},
                                      {"kind", "Lease"},
                                      {"metadata", {{"name", former.name}, {"namespace", here_}}},
                                      {"spec",
                                       {{"holderIdentity", "operator-1_0a1b2c3d"},
                                        {"leaseDurationSeconds", 3600},
                                        {"leaseTransitions", 1}}}}))
                  .ok());
  const auto later = In(here_, {"--installation=a-operator"});
  ASSERT_TRUE(later->WaitForText("operator-1_0a1b2c3d"));
  // It has its own by then, and does nothing yet.
  EXPECT_TRUE(Eventually([&] {
    return world_->client().Call(kube::Get(kube::Leases(), {here_, "a-operator-leader"})).ok();
  }));
  EXPECT_THAT(later->Log(), Not(HasSubstr("\"leading\"")));
  ASSERT_TRUE(
      world_->client()
          .Call(kube::MergePatch(kube::Leases(), former, {{"spec", {{"holderIdentity", ""}}}}))
          .ok());
  EXPECT_TRUE(later->WaitForText("\"leading\""));
  const auto lease = world_->client().Call(kube::Get(kube::Leases(), former));
  ASSERT_TRUE(lease.ok());
  EXPECT_THAT(kube::StringAt(*lease, "/spec/holderIdentity"), HasSubstr("@a-operator-leader"));
}

// As after a rollback, while one of this version is there yet.
TEST_F(InstallationsTest, AnOperatorOfAVersionBeforeThatComesToLeadIsGivenWayTo) {
  const auto one = In(here_, {});
  ASSERT_TRUE(one->WaitForText("\"leading\""));
  const kube::ObjectKey former{here_, "paceline-operator"};
  ASSERT_TRUE(world_->client()
                  .Call(kube::MergePatch(kube::Leases(), former,
                                         {{"spec", {{"holderIdentity", "operator-1_0a1b2c3d"}}}}))
                  .ok());
  EXPECT_TRUE(one->WaitForEnd(30).has_value());
}

}  // namespace
}  // namespace paceline::operator_test
