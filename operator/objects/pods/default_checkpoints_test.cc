// Where default checkpoints of several shards go, and the claim that decides it.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/manifest/encode.h"
#include "operator/objects/children.h"
#include "operator/objects/names.h"
#include "operator/objects/objects_testing.h"
#include "operator/objects/pods/pod.h"
#include "operator/objects/pods/pod_group.h"
#include "operator/objects/secrets.h"

namespace paceline::controller {
namespace {

using ::testing::Contains;
using ::testing::Not;

// Several shards have them in the same folder, where they can.
TEST(PodTest, DefaultCheckpointsOfSeveralShardsGoWhereAllCanMount) {
  job::TrainingJob job = Digits();
  job.spec.output.volume.emplace().persistent_volume_claim = job::Claim{.claim_name = "out"};
  const auto pod = [&](job::Role role, int64_t index, bool shares_output) {
    job::Start start = StartOf(role, index);
    start.shares_output = shares_output;
    return BuildPod(job, start, kOptions);
  };
  const auto has_output = [](const Json& pod) {
    return Named(pod["spec"]["volumes"], "paceline-output") != nullptr &&
           Named(pod["spec"]["containers"][0]["volumeMounts"], "paceline-output") != nullptr;
  };
  for (int64_t shard : {0, 1}) {
    const Json shared = pod(job::Role::kParameterServer, shard, true);
    EXPECT_EQ(After(Arguments(shared), "--checkpoint"),
              "/paceline/output/.digits-checkpoints-uid-1");
    EXPECT_THAT(Arguments(shared), Contains("--default-checkpoints"));
    EXPECT_TRUE(has_output(shared)) << shard;
    const Json alone = pod(job::Role::kParameterServer, shard, false);
    EXPECT_THAT(Arguments(alone), Not(Contains("--checkpoint")));
    EXPECT_EQ(has_output(alone), shard == 0);
  }
  EXPECT_FALSE(has_output(pod(job::Role::kWorker, 0, true)));
  job.spec.checkpoint.emplace().enabled = false;
  EXPECT_FALSE(has_output(pod(job::Role::kParameterServer, 1, true)));
  job.spec.checkpoint.reset();
  job.spec.output.volume.emplace().others["nfs"] = Yaml("{server: nas, path: /models}");
  EXPECT_TRUE(has_output(pod(job::Role::kParameterServer, 1, false)));
}

TEST(ClaimTest, SaysWhoMayMountIt) {
  const auto access = [](const Json& modes) {
    return AccessOf({{"spec", {{"accessModes", modes}}}});
  };
  EXPECT_EQ(access({"ReadWriteOnce", "ReadWriteMany"}),
            (job::ClaimAccess{true, "ReadWriteOnce, ReadWriteMany"}));
  for (const char* mode : {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod"})
    EXPECT_EQ(access(Json::array({mode})), (job::ClaimAccess{false, mode}));
  EXPECT_EQ(AccessOf(Json::object()), job::ClaimAccess());
}

}  // namespace
}  // namespace paceline::controller
