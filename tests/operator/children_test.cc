// What stands around a job's pods while it runs: there before them, and mended when somebody
// deletes or edits it.
#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/base64.h"
#include "lib/job/manifest/encode.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "lib/tls/certificate.h"
#include "operator/controller/resources.h"
#include "operator/controller/secrets/certificates.h"
#include "tests/operator/one_operator.h"

namespace paceline::operator_test {
namespace {

constexpr double kSecretsWithin = 40;  // Nobody watches them.

class ChildrenTest : public OneOperator {
 protected:
  void Edit(const kube::Resource& resource, const Job& job, const std::string& name,
            const Json& patch) {
    const auto edited =
        world_->client().Call(kube::MergePatch(resource, {job.name_space(), name}, patch));
    ASSERT_TRUE(edited.ok()) << name << ": " << edited.status();
  }
  void Remove(const kube::Resource& resource, const Job& job, const std::string& name) {
    const auto gone = world_->client().Call(kube::Delete(resource, {job.name_space(), name}));
    ASSERT_TRUE(gone.ok()) << name << ": " << gone.status();
  }
  static std::map<std::string, std::string> Uids(const Job& job) {
    std::map<std::string, std::string> uids;
    for (const auto& [name, pod] : job.Pods()) uids[name] = kube::Uid(pod);
    return uids;
  }
};

// Somebody's edit of a child, and the part that is to be as before.
struct Change {
  kube::Resource resource;
  std::string name;
  Json patch;
  const char* part;
};

std::vector<Change> Changes() {
  const Json nothing = Json::array();
  return {
      {kube::Services(),
       "digits",
       {{"spec", {{"selector", {{"tier", "gold"}}}}}},
       "/spec/selector"},
      {kube::ConfigMaps(), "digits-job", {{"data", {{"job.json", "{}"}}}}, "/data"},
      {kube::NetworkPolicies(), "digits", {{"spec", {{"ingress", nothing}}}}, "/spec"},
      {kube::PodDisruptionBudgets(),
       "digits-workers",
       {{"spec", {{"minAvailable", 1}}}},
       "/spec/minAvailable"},
  };
}

TEST_F(ChildrenTest, WhatIsWatchedIsMendedAndPodsStay) {
  Job job(*world_, "digits", {{"workers", {{"minReplicas", 2}}}});
  Start(job);
  const auto pods = Uids(job);
  for (const Change& edit : Changes()) {
    const Json before = Object(edit.resource, job, edit.name);
    ASSERT_FALSE(before.is_null()) << edit.name;
    const auto is_mended = [&] {
      const Json now = Object(edit.resource, job, edit.name);
      const Json* const part = kube::Find(now, edit.part);
      return part != nullptr && *part == *kube::Find(before, edit.part);
    };
    Edit(edit.resource, job, edit.name, edit.patch);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(Eventually(is_mended, 10)) << edit.resource.kind << " was edited";
    EXPECT_EQ(kube::Uid(Object(edit.resource, job, edit.name)), kube::Uid(before));
    // A second time: by now its version is one that the operator has compared.
    Edit(edit.resource, job, edit.name, edit.patch);
    EXPECT_TRUE(Eventually(is_mended, 10)) << edit.resource.kind << " was edited again";
    Remove(edit.resource, job, edit.name);
    EXPECT_TRUE(Eventually(is_mended, 10)) << edit.resource.kind << " was deleted";
    EXPECT_NE(kube::Uid(Object(edit.resource, job, edit.name)), kube::Uid(before));
  }
  EXPECT_EQ(Uids(job), pods);
}

TEST_F(ChildrenTest, WhatWasEditedWhileNoOperatorRanIsMended) {
  Job job(*world_, "digits", {{"workers", {{"minReplicas", 2}}}});
  Start(job);
  operator_.reset();
  std::vector<Json> before;
  for (const Change& edit : Changes()) {
    before.push_back(Object(edit.resource, job, edit.name));
    Edit(edit.resource, job, edit.name, edit.patch);
  }
  StartOperator();
  size_t i = 0;
  for (const Change& edit : Changes()) {
    const Json was = before[i++];
    EXPECT_TRUE(Eventually([&] {
      const Json now = Object(edit.resource, job, edit.name);
      const Json* const part = kube::Find(now, edit.part);
      return part != nullptr && *part == *kube::Find(was, edit.part);
    })) << edit.resource.kind;
  }
}

TEST_F(ChildrenTest, SecretsAreMendedInPlaceAndPodsStay) {
  Job job(*world_, "digits");
  Start(job);
  const auto pods = Uids(job);
  const Json token = Object(kube::Secrets(), job, "digits-token");
  const Json servers = Object(kube::Secrets(), job, "digits-ps-tls-0");
  const Json workers = Object(kube::Secrets(), job, "digits-worker-tls-0");
  Edit(kube::Secrets(), job, "digits-token", {{"data", {{"token", "bm9uZQ=="}}}});
  Edit(kube::Secrets(), job, "digits-worker-tls-0",
       {{"data", {{"1.crt", nullptr}, {"more", "bm9uZQ=="}}}});
  Remove(kube::Secrets(), job, "digits-ps-tls-0");
  EXPECT_TRUE(Eventually(
      [&] {
        const Json now = Object(kube::Secrets(), job, "digits-token");
        return now["data"] == token["data"] && kube::Uid(now) == kube::Uid(token);
      },
      kSecretsWithin));
  EXPECT_TRUE(Eventually(
      [&] {
        const Json now = Object(kube::Secrets(), job, "digits-worker-tls-0");
        return now["data"].size() == workers["data"].size() && now["data"].contains("1.crt") &&
               kube::Uid(now) == kube::Uid(workers);
      },
      kSecretsWithin));
  EXPECT_TRUE(Eventually(
      [&] {
        const Json now = Object(kube::Secrets(), job, "digits-ps-tls-0");
        return !now.is_null() && now["data"].size() == servers["data"].size();
      },
      kSecretsWithin));
  EXPECT_EQ(Uids(job), pods);
  EXPECT_EQ(kube::IntegerAt(job.Get(), "/status/restarts"), 0);
}

// The operator's own way to renew, with a clock that the test sets.
TEST_F(ChildrenTest, RenewedCertificatesLieInTheSameSecretFromTheSameAuthority) {
  Job job(*world_, "digits", {{"runPolicy", {{"suspend", true}}}});  // Nothing is made by others.
  const std::string seed(32, 's');
  Time now = *kube::CreationTime(job.Get());
  controller::Certificates certificates(&world_->client(), [&now] { return now; });
  const job::TrainingJob read = job::FromJson(job.Get()).job;
  controller::KnownCertificates known;
  controller::FormerJob former;
  const auto ensure = [&] {
    const Status made =
        certificates.Ensure(read, seed, controller::SecretLook::kRemembered, known, former);
    EXPECT_TRUE(made.ok()) << made;
    EXPECT_TRUE(former.IsGone());
    return Object(kube::Secrets(), job, "digits-worker-tls-0");
  };
  const Json first = ensure();
  ASSERT_FALSE(first.is_null());
  now += std::chrono::hours(24 * 59);
  EXPECT_EQ(ensure(), first);  // Of ninety days.
  now += std::chrono::hours(24 * 2);
  const Json renewed = ensure();
  EXPECT_EQ(kube::Uid(renewed), kube::Uid(first));
  const auto text = [](const Json& secret, const char* key) {
    return DecodeBase64(kube::StringAt(secret, std::string("/data/") + key)).value_or("");
  };
  EXPECT_NE(text(renewed, "0.crt"), text(first, "0.crt"));
  EXPECT_TRUE(tls::AreSameAuthority(text(renewed, "ca.crt"), text(first, "ca.crt")));
  const auto certificate = tls::ReadCertificate(text(renewed, "0.crt"));
  ASSERT_TRUE(certificate.ok());
  EXPECT_GT(certificate->validity.not_after.time_since_epoch(),
            now.time_since_epoch() + std::chrono::hours(24 * 89));
}

// A pod that mounts what is not there yet waits for its kubelet's next try, and says so. Versions
// of all kinds come from one counter, and nobody has changed anything since.
TEST_F(ChildrenTest, AreThereBeforeThePodsThatMountThem) {
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const auto made_at = [](const Json& object) {
    return std::stoll("0" + kube::ResourceVersion(object));
  };
  int64_t first_pod = std::numeric_limits<int64_t>::max();
  for (const auto& [name, pod] : job.Pods()) first_pod = std::min<int64_t>(first_pod, made_at(pod));
  const std::vector<std::pair<kube::Resource, std::string>> mounted = {
      {kube::Secrets(), "digits-ps-tls-0"},
      {kube::Secrets(), "digits-worker-tls-0"},
      {kube::Secrets(), "digits-token"},
      {kube::ConfigMaps(), "digits-job"}};
  for (const auto& [resource, name] : mounted) {
    const Json object = Object(resource, job, name);
    ASSERT_FALSE(object.is_null()) << name;
    EXPECT_LT(made_at(object), first_pod) << name;
  }
}

}  // namespace
}  // namespace paceline::operator_test
