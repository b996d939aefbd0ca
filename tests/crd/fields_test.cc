// Every field of the schema passes through the API server and lib/job and comes back.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/crd/schema.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/load.h"
#include "lib/job/manifest/yaml.h"
#include "lib/kube/core/api_error.h"
#include "tests/crd/corpus.h"
#include "tests/crd/world.h"

namespace paceline::crd_test {
namespace {

// Paths of all fields of a schema, "spec.chaos.delays[].kind"; pod templates are opaque.
void CollectPaths(const nlohmann::ordered_json& schema, const std::string& path,
                  std::set<std::string>& paths) {
  if (schema.contains("items")) return CollectPaths(schema["items"], path + "[]", paths);
  if (!schema.contains("properties")) {
    paths.insert(path);
    return;
  }
  for (const auto& [name, below] : schema["properties"].items()) {
    if (name == "template")
      paths.insert(path + "." + name);
    else
      CollectPaths(below, path + "." + name, paths);
  }
}

std::set<std::string> SchemaPaths(const std::string& part) {
  std::set<std::string> paths;
  CollectPaths(job::OpenApiSchema()["properties"][part], part, paths);
  return paths;
}

// Drops the paths of what `value` holds.
void RemovePaths(const Json& value, const std::string& path, std::set<std::string>& paths) {
  paths.erase(path);
  if (value.is_array()) {
    for (const Json& element : value) RemovePaths(element, path + "[]", paths);
  } else if (value.is_object()) {
    for (const auto& [name, below] : value.items()) RemovePaths(below, path + "." + name, paths);
  }
}

job::TrainingJob Decode(const Json& object) {
  const job::Decoded decoded = job::FromJson(object);
  for (const job::FieldError& error : decoded.errors) ADD_FAILURE() << ToString(error);
  return decoded.job;
}

job::JobStatus FullStatus() {
  const Time noon{Seconds(1'800'000'000)};
  job::JobStatus status;
  status.conditions = {{.type = job::ConditionType::kDegraded,
                        .status = job::ConditionStatus::kTrue,
                        .reason = "WorkersMissing",
                        .message = "not running: digits-worker-3",
                        .observed_generation = 2,
                        .last_transition_time = noon}};
  status.observed_generation = 2;
  status.start_time = noon;
  status.completion_time = noon + Seconds(60);
  status.state = "Degraded";
  status.replicas = 4;
  status.ready_workers = "3/4";
  status.selector = "paceline.dev/job=digits,paceline.dev/role=worker";
  status.replica_statuses = {{2, 1, 0, 1}, {4, 3, 2, 1}, {1, 1, 1, 1}};
  status.progress = job::Progress{.step = 42,
                                  .epoch = 1.25,
                                  .percent = 8.3,
                                  .done = "8%, step 42",
                                  .eta_seconds = 605,
                                  .eta = "10m05s",
                                  .loss = 0.0123457,
                                  .metric = 0.97,
                                  .accuracy = 0.97,
                                  .samples_per_second = 1234.5,
                                  .slowest = "digits-worker-3 1.8x",
                                  .last_update_time = noon};
  status.sync = job::SyncStatus{.scheme = job::Scheme::kBackupWorkers,
                                .waiting_for = 3,
                                .backup_workers = 1,
                                .summary = "BackupWorkers k=3"};
  status.workers = {{.name = "digits-worker-3",
                     .group = "worker",
                     .index = 3,
                     .pod = "digits-worker-3",
                     .node = "node-2",
                     .state = "Computing",
                     .batch_size = 16,
                     .compute_seconds_p50 = 0.25,
                     .slowdown_percent = 180}};
  status.worker_groups = {
      {.name = "big", .device = "CUDA", .replicas = 4, .active = 3, .ready = 2}};
  status.avoided_nodes = {{"digits-worker-3", "node-1"}};
  status.gives_way_until = noon + Seconds(30);
  status.checkpoint = job::CheckpointStatus{.version = 40, .completion_time = noon};
  status.recovery = job::RecoveryStatus{.roll_backs = 2,
                                        .from_version = 52,
                                        .to_version = 40,
                                        .message = "shard s1 lost",
                                        .time = noon,
                                        .coordinator_start = 2,
                                        .coordinator_roll_backs = 1};
  status.finishing = job::FinishingStatus{.coordinator_start = 2, .model_version = 900};
  status.model = job::ModelStatus{.state = job::ModelState::kAvailable,
                                  .where = "pod digits-ps-0",
                                  .until = noon,
                                  .version = 900,
                                  .size_bytes = 86440,
                                  .sha256 = "ab12",
                                  .message = "paceline fetch digits -n research gets it"};
  status.restarts = 3;
  status.failures = 1;
  status.coordinator_starts = 2;
  status.remembered = job::Remembered{.is_recovering = true,
                                      .degraded = "WorkersMissing",
                                      .resources = "ProcessesMissing",
                                      .no_checkpoints = "NoVolume",
                                      .note_of_start = 2};
  return status;
}

TEST(Fields, ComeBackAsTheLibraryReadsThemDefaultsIncluded) {
  PACELINE_CRD_WORLD(world);
  std::set<std::string> missing = SchemaPaths("spec");
  ASSERT_GE(missing.size(), 110u);
  for (const Manifest& manifest : Manifests("good")) {
    Json object = job::ToJson(job::ParseYaml(manifest.text).root);
    object.erase("status");
    RemovePaths(object["spec"], "spec", missing);
    // As text: 64.0 is a whole number in YAML and none in JSON.
    const Answer answer = world.TryCreate(manifest.text, "application/yaml",
                                          object["metadata"].value("namespace", "default"));
    ASSERT_TRUE(answer.is_accepted) << manifest.name << answer.text;
    const Json stored = Json::parse(answer.text);
    // Ours, without what the defaults of other fields decide, which the server leaves open.
    const job::TrainingJob ours = Decode(object), theirs = Decode(stored);
    EXPECT_TRUE(theirs.spec == ours.spec) << manifest.name << "\n"
                                          << job::ToJson(ours)["spec"].dump(1) << "\n"
                                          << stored["spec"].dump(1);
    // What the library writes is what the server would store again.
    Json again = job::ToJson(ours);
    again.erase("status");
    for (const char* given : {"uid", "resourceVersion", "generation", "creationTimestamp"})
      again["metadata"].erase(given);
    EXPECT_TRUE(Decode(world.DryRun(again)).spec == ours.spec) << manifest.name;
  }
  EXPECT_THAT(missing, ::testing::IsEmpty()) << "no good manifest sets these";
}

TEST(Fields, OfStatusComeBackToo) {
  PACELINE_CRD_WORLD(world);
  const job::JobStatus status = FullStatus();
  std::set<std::string> missing = SchemaPaths("status");
  RemovePaths(job::ToJson(status), "status", missing);
  EXPECT_THAT(missing, ::testing::IsEmpty());
  const StatusOr<Json> made =
      world.client().Call(kube::Create(TrainingJobs(), SmallJob("status-fields")));
  ASSERT_TRUE(made.ok()) << made.status();
  Json object = *made;
  object["status"] = job::ToJson(status);
  const StatusOr<Json> written =
      world.client().Call(kube::Update(TrainingJobs(), object, {.subresource = "status"}));
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_TRUE(Decode(*written).status == status) << (*written)["status"].dump(1);
}

}  // namespace
}  // namespace paceline::crd_test
