// Where default checkpoints of several shards go, and the claim that decides it.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/defaults.h"
#include "lib/job/encode.h"
#include "lib/job/yaml.h"
#include "operator/objects/children.h"
#include "operator/objects/names.h"
#include "operator/objects/pod.h"
#include "operator/objects/pod_group.h"
#include "operator/objects/secrets.h"

namespace paceline::controller {
namespace {

using ::testing::Contains;
using ::testing::Not;

job::TrainingJob Digits() {
  job::TrainingJob job;
  job.metadata.name = "digits";
  job.metadata.name_space = "research";
  job.metadata.uid = "uid-1";
  job.spec.data.eval = "test.safetensors";
  job.spec.parameter_server.shards = 2;
  job.spec.workers.replicas = 4;
  job.spec.workers.min_replicas = 2;
  job::ApplyDefaults(job);
  return job;
}

job::Start StartOf(job::Role role, int64_t index) {
  return {.name = job::ProcessName("digits", role, index),
          .role = role,
          .index = index,
          .generation_start = 3,
          .attempt = 2,
          .failures = 1,
          .unfit = 4};
}

const ObjectOptions kOptions = {.server_image = "ps:1", .worker_image = "worker:1"};

job::Node Yaml(const std::string& text) {
  auto parsed = job::ParseYaml(text);
  EXPECT_TRUE(parsed.errors.empty());
  return parsed.root;
}

std::vector<std::string> Arguments(const Json& pod, size_t container = 0) {
  return pod["spec"]["containers"][container]["args"].get<std::vector<std::string>>();
}

std::string After(const std::vector<std::string>& arguments, const std::string& flag) {
  const auto found = std::find(arguments.begin(), arguments.end(), flag);
  return found == arguments.end() || found + 1 == arguments.end() ? "" : *(found + 1);
}

const Json* Named(const Json& list, const std::string& name) {
  for (const Json& element : list) {
    if (element.value("name", "") == name) return &element;
  }
  return nullptr;
}

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
