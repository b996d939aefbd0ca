// What may change of a job that exists, and what may not.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/checks/change.h"
#include "lib/job/manifest/defaults.h"
#include "lib/job/manifest/encode.h"
#include "lib/kube/core/api_error.h"
#include "tests/crd/world.h"

namespace paceline::crd_test {
namespace {

using ::testing::HasSubstr;

// A job of that name that is stored.
kube::ObjectKey Stored(World& world, const std::string& name) {
  const StatusOr<Json> made = world.client().Call(kube::Create(TrainingJobs(), SmallJob(name)));
  EXPECT_TRUE(made.ok()) << made.status();
  return {"default", name};
}

StatusOr<Json> Patch(World& world, const kube::ObjectKey& key, const std::string& spec) {
  return world.client().Call(
      kube::MergePatch(TrainingJobs(), key, {{"spec", Json::parse(spec)}}, {.dry_run = true}));
}

// What lib/job says of the same change.
std::vector<job::FieldError> OurErrors(World& world, const kube::ObjectKey& key,
                                       const std::string& spec) {
  Json object = *world.client().Call(kube::Get(TrainingJobs(), key));
  job::TrainingJob from = job::FromJson(object).job;
  object.merge_patch({{"spec", Json::parse(spec)}});
  job::TrainingJob to = job::FromJson(object).job;
  job::ApplyDefaults(from);
  job::ApplyDefaults(to);
  return job::ValidateChange(from, to);
}

TEST(Changes, OfModelDataAndTrainingAreRefused) {
  PACELINE_CRD_WORLD(world);
  const kube::ObjectKey key = Stored(world, "fixed");
  const struct {
    const char* patch;
    const char* field;
  } cases[] = {
      {R"({"model": {"torchScript": "other.pt"}})", "spec.model"},
      {R"({"data": {"train": "other.safetensors"}})", "spec.data"},
      {R"({"data": {"eval": "test.safetensors"}})", "spec.data"},
      {R"({"training": {"globalBatchSize": 128}})", "spec.training"},
      {R"({"training": {"optimizer": {"sgd": {"momentum": 0.9}}}})", "spec.training"},
      {R"({"training": {"microBatchSize": 4}})", "spec.training"},
      {R"({"training": {"gradientClipNorm": 4}})", "spec.training"},
      {R"({"training": {"learningRate": {"warmupSteps": 4}}})", "spec.training"},
      {R"({"training": {"learningRate": {"factor": 0.4}}})", "spec.training"},
      {R"({"training": {"learningRate": {"wsd": {"decayShare": 0.4}}}})", "spec.training"},
      {R"({"training": {"parameterGroups": [{"match": ["*.bias"]}]}})", "spec.training"},
      {R"({"training": {"ema": {"decay": 0.9}}})", "spec.training"},
      {R"({"model": {"init": "start.safetensors"}})", "spec.model"},
      {R"({"training": {"stop": {"target": {"value": 0.9}}}})", "spec.training"},
      {R"({"training": {"stop": {"patience": 3}}})", "spec.training"},
      {R"({"training": {"learningRate": {"plateau": {"patience": 3}}}})", "spec.training"},
      {R"({"training": {"seed": 4}})", "spec.training"},
      {R"({"parameterServer": {"shards": 2}})", "spec.parameterServer.shards"},
      {R"({"security": {"mtls": "Disabled"}})", "spec.security.mtls"},
      {R"({"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}})", "spec.runPolicy.managedBy"},
  };
  for (const auto& c : cases) {
    const StatusOr<Json> changed = Patch(world, key, c.patch);
    ASSERT_TRUE(kube::IsInvalid(changed.status())) << c.patch << changed.status();
    EXPECT_THAT(Message(changed.status()), HasSubstr(c.field));
    EXPECT_THAT(Message(changed.status()), HasSubstr("cannot change once the job exists"));
    const std::vector<job::FieldError> ours = OurErrors(world, key, c.patch);
    ASSERT_EQ(ours.size(), 1u) << c.patch;
    EXPECT_TRUE(ours[0].path.starts_with(c.field)) << ours[0].path;
    EXPECT_THAT(ours[0].message, HasSubstr("cannot change once the job exists"));
  }
}

TEST(Changes, OfTheCourseOfTrainingAreTaken) {
  PACELINE_CRD_WORLD(world);
  const kube::ObjectKey key = Stored(world, "course");
  for (const char* patch : {R"({"training": {"stop": {"maxEpochs": 16}}})",
                            R"({"training": {"stop": {"maxSteps": 16}}})",
                            R"({"training": {"stop": {"maxEpochs": null, "maxSteps": 16}}})",
                            R"({"training": {"learningRate": {"base": 0.25}}})"}) {
    const StatusOr<Json> changed = Patch(world, key, patch);
    EXPECT_TRUE(changed.ok()) << patch << changed.status();
    EXPECT_TRUE(OurErrors(world, key, patch).empty()) << patch;
  }
}

TEST(Changes, OfVolumesNeedASuspendedJob) {
  PACELINE_CRD_WORLD(world);
  Json object = SmallJob("volumes");
  object["spec"]["checkpoint"] = {{"volume", {{"nfs", {{"server", "files"}, {"path", "/a"}}}}}};
  ASSERT_TRUE(world.client().Call(kube::Create(TrainingJobs(), object)).ok());
  Json bare = SmallJob("bare");
  bare["spec"]["output"] = {{"volume", {{"nfs", {{"server", "files"}, {"path", "/a"}}}}}};
  ASSERT_TRUE(world.client().Call(kube::Create(TrainingJobs(), bare)).ok());
  const struct {
    const char* job;
    const char* patch;
    bool is_free;
  } cases[] = {
      {"volumes", R"({"output": {"volume": {"nfs": {"server": "files", "path": "/o"}}}})", false},
      {"volumes", R"({"checkpoint": {"volume": {"nfs": {"path": "/b"}}}})", false},
      {"volumes", R"({"checkpoint": {"volume": {"nfs": null, "emptyDir": {}}}})", false},
      {"volumes", R"({"checkpoint": {"volume": null, "volumeClaimTemplate": {"spec": {}}}})",
       false},
      {"volumes", R"({"checkpoint": null})", false},
      {"volumes", R"({"checkpoint": {"periodSeconds": 7, "keep": 9}})", true},
      {"volumes", R"({"checkpoint": {"volume": {"nfs": {"path": "/a"}}}})", true},
      {"bare", R"({"output": {"volume": {"nfs": {"path": "/b"}}}})", false},
      {"bare", R"({"output": null})", false},
      {"bare", R"({"checkpoint": {"volume": {"emptyDir": {}}}})", false},
      // To suspend it in the same breath is too late.
      {"bare", R"({"output": null, "runPolicy": {"suspend": true}})", false},
  };
  const auto try_all = [&](bool is_suspended) {
    for (const auto& c : cases) {
      const kube::ObjectKey key{"default", c.job};
      const StatusOr<Json> changed = Patch(world, key, c.patch);
      EXPECT_EQ(changed.ok(), c.is_free || is_suspended)
          << c.job << c.patch << is_suspended << changed.status();
      EXPECT_EQ(OurErrors(world, key, c.patch).empty(), changed.ok()) << c.job << c.patch;
      if (changed.ok()) continue;
      EXPECT_THAT(Message(changed.status()), HasSubstr("only while runPolicy.suspend is true"));
    }
  };
  try_all(false);
  for (const char* name : {"volumes", "bare"}) {
    ASSERT_TRUE(world.client()
                    .Call(kube::MergePatch(TrainingJobs(), {"default", name},
                                           {{"spec", {{"runPolicy", {{"suspend", true}}}}}}))
                    .ok());
  }
  try_all(true);
}

Json Grouped(const std::string& name) {
  Json object = SmallJob(name);
  object["spec"]["workers"] = Json::parse(
      R"({"groups": [{"name": "big", "replicas": 2, "maxReplicas": 4}, {"name": "small"}]})");
  return object;
}

TEST(Changes, GroupsComeAndGoAndAreScaledAndNeverBecomeTheShortForm) {
  PACELINE_CRD_WORLD(world);
  ASSERT_TRUE(world.client().Call(kube::Create(TrainingJobs(), Grouped("groups"))).ok());
  const kube::ObjectKey groups{"default", "groups"}, without = Stored(world, "no-groups");
  for (const char* patch : {
           R"({"workers": {"groups": [{"name": "big", "replicas": 0}, {"name": "small"}]}})",
           R"({"workers": {"groups": [{"name": "small", "replicas": 3}]}})",
           R"({"workers": {"groups": [{"name": "new"}, {"name": "big"}, {"name": "small"}]}})",
       }) {
    const StatusOr<Json> changed = Patch(world, groups, patch);
    EXPECT_TRUE(changed.ok()) << patch << changed.status();
    EXPECT_TRUE(OurErrors(world, groups, patch).empty()) << patch;
  }
  const struct {
    kube::ObjectKey job;
    const char* patch;
    const char* message;
  } refused[] = {
      {groups, R"({"workers": {"groups": null}})", "groups cannot come to a job without groups"},
      {groups, R"({"workers": {"groups": []}})", "groups cannot come to a job without groups"},
      {without, R"({"workers": {"replicas": 1, "groups": [{"name": "big"}]}})",
       "groups cannot come to a job without groups"},
  };
  for (const auto& c : refused) {
    const StatusOr<Json> changed = Patch(world, c.job, c.patch);
    ASSERT_FALSE(changed.ok()) << c.patch;
    EXPECT_THAT(Message(changed.status()), HasSubstr(c.message));
    EXPECT_FALSE(OurErrors(world, c.job, c.patch).empty()) << c.patch;
  }
  const StatusOr<Json> one = world.client().Call(
      kube::MergePatch(TrainingJobs(), groups, {{"spec", {{"workers", {{"replicas", 3}}}}}}));
  ASSERT_FALSE(one.ok());
  EXPECT_THAT(Message(one.status()), HasSubstr("set groups[].replicas of each"));
}

// Which of the groups it would be nobody could say.
TEST(Changes, TheScaleSubresourceOfAJobWithGroupsIsRefusedClearly) {
  PACELINE_CRD_WORLD(world);
  ASSERT_TRUE(world.client().Call(kube::Create(TrainingJobs(), Grouped("grouped-scale"))).ok());
  const StatusOr<Json> scaled = world.client().Call(
      kube::MergePatch(TrainingJobs(), {"default", "grouped-scale"}, {{"spec", {{"replicas", 3}}}},
                       {.subresource = "scale"}));
  ASSERT_FALSE(scaled.ok());
  EXPECT_THAT(Message(scaled.status()),
              HasSubstr("replicas is of a job without groups: set groups[].replicas of each"));
}

TEST(Changes, OfAllElseArePossibleWithinBounds) {
  PACELINE_CRD_WORLD(world);
  const kube::ObjectKey key = Stored(world, "free");
  for (const char* patch : {
           R"({"sync": {"scheme": "SSP", "ssp": {"staleness": 5}}})",
           R"({"sync": {"scheme": "BackupWorkers", "backupWorkers": {"count": 3}}})",
           R"({"workers": {"replicas": 8}})",
           R"({"workers": {"replicas": 64, "maxReplicas": 64}})",
           R"({"workers": {"maxReplicas": null, "replicas": 16}})",
           R"({"workers": {"template": {"spec": {"nodeSelector": {"pool": "spot"}}}}})",
           R"({"runPolicy": {"suspend": true, "backoffLimit": 0}})",
           R"({"checkpoint": null})",
           R"({"training": {"globalBatchSize": 64}})",
       }) {
    const StatusOr<Json> changed = Patch(world, key, patch);
    EXPECT_TRUE(changed.ok()) << patch << changed.status();
  }
  const struct {
    const char* patch;
    const char* message;
  } cases[] = {
      {R"({"workers": {"replicas": 9}})", "maxReplicas must be at least replicas"},
      {R"({"workers": {"minReplicas": 5}})", "minReplicas must be at most replicas"},
      {R"({"workers": {"replicas": 65, "maxReplicas": 65}})",
       "training.globalBatchSize must be at least workers.replicas"},
      {R"({"workers": {"replicas": 0}})", "should be greater than or equal to 1"},
      {R"({"sync": {"scheme": "BackupWorkers", "backupWorkers": {"count": 4}}})",
       "sync.backupWorkers.count must be less than workers.replicas"},
      {R"({"sync": {"scheme": "Fastest"}})", "Unsupported value: \"Fastest\""},
      {R"({"evaluator": {}})", "evaluator needs data.eval"},
      {R"({"output": {"volume": {"nfs": {}, "emptyDir": {}}}})", "must have at most 1 item"},
      {R"({"workers": {"template": {"spec": {"restartPolicy": "Always"}}}})",
       "restartPolicy must be absent"},
  };
  for (const auto& c : cases) {
    const StatusOr<Json> changed = Patch(world, key, c.patch);
    ASSERT_TRUE(kube::IsInvalid(changed.status())) << c.patch << changed.status();
    EXPECT_THAT(Message(changed.status()), HasSubstr(c.message));
  }
}

TEST(Changes, OfScaleReachTheWorkers) {
  PACELINE_CRD_WORLD(world);
  const kube::ObjectKey key = Stored(world, "scaled");
  Json job = *world.client().Call(kube::Get(TrainingJobs(), key));
  job["status"] = {{"replicas", 3}, {"selector", "paceline.dev/job=scaled"}};
  ASSERT_TRUE(
      world.client().Call(kube::Update(TrainingJobs(), job, {.subresource = "status"})).ok());
  const auto scale = [&](int64_t replicas) {
    return world.client().Call(kube::MergePatch(
        TrainingJobs(), key, {{"spec", {{"replicas", replicas}}}}, {.subresource = "scale"}));
  };
  const StatusOr<Json> scaled = scale(6);
  ASSERT_TRUE(scaled.ok()) << scaled.status();
  EXPECT_EQ(kube::IntegerAt(*scaled, "/status/replicas"), 3);
  EXPECT_EQ(kube::StringAt(*scaled, "/status/selector"), "paceline.dev/job=scaled");
  const Json now = *world.client().Call(kube::Get(TrainingJobs(), key));
  EXPECT_EQ(kube::IntegerAt(now, "/spec/workers/replicas"), 6);
  const StatusOr<Json> beyond = scale(9);
  ASSERT_FALSE(beyond.ok());
  EXPECT_THAT(Message(beyond.status()), HasSubstr("maxReplicas must be at least replicas"));
}

}  // namespace
}  // namespace paceline::crd_test
