#include "cli/local/local_job.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/local/launch.h"
#include "lib/job/environment.h"
#include "lib/job/manifest/defaults.h"
#include "lib/job/manifest/load.h"
#include "lib/job/manifest/yaml.h"

namespace paceline::local {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Pair;

constexpr char kManifest[] = R"(
apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {name: digits}
spec:
  model: {torchScript: /models/cnn.pt}
  data: {train: /data/train.safetensors, eval: test.safetensors}
  training:
    globalBatchSize: 64
    learningRate: {base: 0.05}
    stop: {maxEpochs: 15}
  workers: {replicas: 4, template: WORKER}
  evaluator: {template: EVALUATOR}
  output: OUTPUT
  runPolicy: POLICY
)";

struct Parts {
  std::string worker = "{}";
  std::string evaluator = "{}";
  std::string output = "{}";
  std::string policy = "{}";
  std::string more = "";  // Lines of spec.
};

job::TrainingJob Job(const Parts& parts) {
  std::string text = kManifest;
  const auto fill = [&](const std::string& mark, const std::string& value) {
    text.replace(text.find(mark), mark.size(), value);
  };
  fill("WORKER", parts.worker);
  fill("EVALUATOR", parts.evaluator);
  fill("OUTPUT", parts.output);
  fill("POLICY", parts.policy);
  text += parts.more;
  job::Decoded decoded = job::LoadJob(text, {}, job::Capabilities());
  for (const job::FieldError& error : decoded.errors) ADD_FAILURE() << ToString(error);
  return decoded.job;
}

LocalJob Adapt(const Parts& parts, const std::vector<std::string>& chosen = {}) {
  VolumeFolders volumes = VolumeFolders::Parse(chosen, "/here/paceline-volumes").value();
  return AdaptJob(Job(parts), "/run", volumes);
}

std::vector<std::string> Errors(const LocalJob& local) {
  std::vector<std::string> texts;
  for (const job::FieldError& error : local.errors) texts.push_back(ToString(error));
  return texts;
}

TEST(LocalJob, WithoutTemplatesOrVolumesIsTheJobItself) {
  const LocalJob local = Adapt({});
  EXPECT_THAT(Errors(local), IsEmpty());
  EXPECT_THAT(local.ignored, IsEmpty());
  EXPECT_EQ(local.output_folder, std::nullopt);
  EXPECT_TRUE(local.job == Job({}));
}

TEST(LocalJob, CheckpointsThatNobodyAskedForAreInTheRunsFolder) {
  const LocalJob local = Adapt({});
  EXPECT_EQ(local.checkpoint_folder, "/run/checkpoints");
  EXPECT_TRUE(local.has_default_checkpoints);
  const LocalJob asked = Adapt({.more = "  checkpoint: {volumeClaimTemplate: {}}\n"});
  EXPECT_EQ(asked.checkpoint_folder, "/here/paceline-volumes/digits-checkpoint");
  EXPECT_FALSE(asked.has_default_checkpoints);
  const LocalJob off = Adapt({.more = "  checkpoint: {enabled: false}\n"});
  EXPECT_EQ(off.checkpoint_folder, std::nullopt);
  EXPECT_FALSE(off.has_default_checkpoints);
}

TEST(LocalJob, OutputOfAClaimGoesBelowPacelineVolumes) {
  const Parts parts{.output = "{volume: {persistentVolumeClaim: {claimName: out}}}"};
  EXPECT_EQ(Adapt(parts).output_folder, "/here/paceline-volumes/out");
  EXPECT_EQ(Adapt(parts, {"out=/elsewhere/"}).output_folder, "/elsewhere");
}

TEST(LocalJob, OutputOfAHostPathGoesThere) {
  const LocalJob local =
      Adapt({.output = "{volume: {hostPath: {path: /srv/out, type: Directory}}}"});
  EXPECT_EQ(local.output_folder, "/srv/out");
  EXPECT_FALSE(local.may_make_output_folder);
  EXPECT_EQ(Adapt({.output = "{volume: {emptyDir: {}}}"}).output_folder, std::nullopt);
  EXPECT_THAT(
      Errors(Adapt({.output = "{volume: {hostPath: {path: out, type: Socket}}}"})),
      ElementsAre("spec.output.volume.hostPath.path: must be an absolute path: got \"out\"",
                  "spec.output.volume.hostPath.type: must be Directory or DirectoryOrCreate: got "
                  "\"Socket\""));
}

TEST(LocalJob, EachGroupHasItsOwnEnvironmentAndDevice) {
  const auto template_of = [](const std::string& name) {
    return "{spec: {containers: [{name: worker, env: [{name: WHO, value: " + name + "}]}]}}";
  };
  job::TrainingJob job = Job({});
  job.spec.workers = {};
  job.spec.workers.groups = {
      {.name = "big",
       .pod_template = job::ParseYaml(template_of("a")).root,
       .device = job::Device::kCuda},
      {.name = "small", .pod_template = job::ParseYaml(template_of("b")).root}};
  job::ApplyDefaults(job);
  VolumeFolders volumes = VolumeFolders::Parse({}, "/here").value();
  const LocalJob local = AdaptJob(job, "/run", volumes);
  EXPECT_THAT(Errors(local), IsEmpty());
  EXPECT_THAT(local.extras.at("big").environment, ElementsAre(Pair("WHO", "a")));
  EXPECT_THAT(local.extras.at("small").environment, ElementsAre(Pair("WHO", "b")));
  EXPECT_EQ(local.extras.at("big").device, "cuda");
  EXPECT_EQ(local.extras.at("small").device, "cpu");
}

constexpr char kMounts[] =
    "{spec: {volumes: [{name: d, hostPath: {path: /srv/data}}, {name: m, persistentVolumeClaim: "
    "{claimName: models}}], containers: [{name: worker, volumeMounts: [{name: d, mountPath: "
    "/data}, {name: m, mountPath: /models}]}]}}";

TEST(LocalJob, FilesBelowAMountAreThoseOfTheVolumesFolder) {
  const LocalJob local = Adapt({.worker = kMounts}, {"models=/m"});
  EXPECT_THAT(Errors(local), IsEmpty());
  EXPECT_EQ(local.job.spec.model.torch_script, "/m/cnn.pt");
  EXPECT_EQ(local.job.spec.data.train, "/srv/data/train.safetensors");
  EXPECT_EQ(local.job.spec.data.eval, "test.safetensors");
}

TEST(LocalJob, EvaluatorWithAnotherFolderAtTheSamePlaceIsRefused) {
  const LocalJob local =
      Adapt({.worker = kMounts,
             .evaluator = "{spec: {volumes: [{name: d, hostPath: {path: /srv/other}}], containers: "
                          "[{name: evaluator, volumeMounts: [{name: d, mountPath: /data}]}]}}"});
  EXPECT_THAT(
      Errors(local),
      ElementsAre("line 13: spec.evaluator.template.spec.containers[0].volumeMounts[0].mountPath: "
                  "must lead to the same folder as "
                  "spec.workers.template.spec.containers[0].volumeMounts[0].mountPath, /srv/data, "
                  "on one machine: got /srv/other"));
}

TEST(LocalJob, FieldsOfAClusterAreListedOnlyWhereTheyWereSet) {
  const LocalJob local = Adapt({.policy = "{ttlSecondsAfterFinished: 60, cleanPodPolicy: Running, "
                                          "schedulingPolicy: {queue: research}}"});
  EXPECT_THAT(local.ignored, ElementsAre("spec.runPolicy.ttlSecondsAfterFinished",
                                         "spec.runPolicy.schedulingPolicy.queue"));
}

TEST(LocalJob, ReplacingAStragglerMeansStartingItAgain) {
  const LocalJob local = Adapt({.more = "  # no more\n"});
  EXPECT_THAT(local.notes, IsEmpty());
  job::TrainingJob job = Job({});
  job.spec.workers.straggler_policy.action = job::StragglerAction::kReplace;
  VolumeFolders volumes = VolumeFolders::Parse({}, "/here").value();
  const LocalJob replacing = AdaptJob(job, "/run", volumes);
  EXPECT_THAT(
      replacing.notes,
      ElementsAre("spec.workers.stragglerPolicy.action: Replace means on one machine that a "
                  "straggler is started again"));
  EXPECT_THAT(replacing.ignored, IsEmpty());
}

TEST(LocalJob, CautionsAreSaid) {
  job::TrainingJob job = Job({});
  job.spec.sync.scheme = job::Scheme::kDbw;
  job.spec.sync.batch_sizing.strategy = job::BatchStrategy::kNarx;
  VolumeFolders volumes = VolumeFolders::Parse({}, "/here").value();
  EXPECT_THAT(AdaptJob(job, "/run", volumes).notes,
              ElementsAre(HasSubstr("caution: spec.sync.batchSizing: ")));
}

TEST(LocalJob, SuspendedOneIsRefused) {
  EXPECT_THAT(Errors(Adapt({.policy = "{suspend: true}"})),
              ElementsAre("spec.runPolicy.suspend: must be false on one machine: nothing would "
                          "run"));
}

TEST(Volumes, MustBePairsOfClaimsOfTheJob) {
  for (const std::string bad : {"", "out", "=dir", "out="}) {
    EXPECT_EQ(VolumeFolders::Parse({bad}, "/v").status().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(Message(VolumeFolders::Parse({"a=/x", "a=/y"}, "/v").status()),
            "--volume names a claim twice: a");
  VolumeFolders volumes = VolumeFolders::Parse({"out=/x"}, "/v").value();
  EXPECT_EQ(Message(volumes.CheckAllUsed()), "--volume out=/x: the job has no claim");
  EXPECT_EQ(volumes.FolderOf("in"), "/v/in");
  EXPECT_EQ(Message(volumes.CheckAllUsed()),
            "--volume out=/x: the job has no such claim, its claims are in");
  EXPECT_EQ(volumes.FolderOf("out"), "/x");
  EXPECT_TRUE(volumes.CheckAllUsed().ok());
}

TEST(OutputFolder, IsMadeUnlessItMustBeThere) {
  const std::string parent =
      std::filesystem::temp_directory_path() / fmt::format("paceline-output-test-{}", getpid());
  LocalJob local;
  EXPECT_TRUE(PrepareFolders(local).ok());
  local.output_folder = parent + "/a/b";
  local.may_make_output_folder = false;
  EXPECT_EQ(Message(PrepareFolders(local)),
            "spec.output.volume: there is no folder " + parent + "/a/b");
  local.may_make_output_folder = true;
  EXPECT_TRUE(PrepareFolders(local).ok());
  EXPECT_TRUE(std::filesystem::is_directory(parent + "/a/b"));
  std::filesystem::remove_all(parent);
}

TEST(LaunchCommand, TakesWhatTheTemplateSays) {
  const std::string parent =
      std::filesystem::temp_directory_path() / fmt::format("paceline-launch-test-{}", getpid());
  {
    const auto folder = JobFolder::Create(JobFolder::NewPath(parent, "digits"));
    ASSERT_TRUE(folder.ok()) << Message(folder.status());
    LaunchOptions options{.programs_folder = "/bin",
                          .manifest_folder = "/jobs",
                          .model_path = "/out/model.safetensors",
                          .http_port = 0,
                          .extras = {}};
    const job::Start start{.name = "digits-worker-2", .role = job::Role::kWorker, .index = 2};
    EXPECT_THAT(LaunchCommand(options, *folder, start).environment,
                ElementsAre(Pair("OMP_NUM_THREADS", "1")));
    options.extras["worker"] = {{{"OMP_NUM_THREADS", "4"}, {"A", "b"}}, {"--log-format", "json"}};
    const Command command = LaunchCommand(options, *folder, start);
    EXPECT_THAT(command.environment, ElementsAre(Pair("OMP_NUM_THREADS", "4"), Pair("A", "b")));
    EXPECT_EQ(command.arguments.front(), "/bin/paceline-worker");
    EXPECT_THAT(command.arguments, IsSupersetOf({"worker", "2", "/jobs", "--log-format"}));
    EXPECT_EQ(command.arguments.back(), "json");
    options.extras["big"] = {{}, {}, "cuda"};
    const job::Start grouped{.name = "digits-big-1", .index = 1, .group = "big"};
    EXPECT_THAT(LaunchCommand(options, *folder, grouped).arguments,
                IsSupersetOf({"--group", "big", "--index", "1", "--device", "cuda"}));
    options.command = {"python3", "train.py"};
    options.command_folder = "/jobs/src";
    options.extras["worker"] = {{{"A", "b"}}, {"--width", "64"}};
    const Command own = LaunchCommand(options, *folder, start);
    EXPECT_THAT(own.arguments, ElementsAre("python3", "train.py", "--width", "64"));
    EXPECT_EQ(own.folder, "/jobs/src");
    const job::Environment told = job::AsEnvironment(
        {command.arguments.begin() + 1, command.arguments.end() - 2});  // Without --log-format.
    EXPECT_GE(told.size(), 7u);
    EXPECT_THAT(own.environment, IsSupersetOf(told)) << "all that our program is told";
    EXPECT_THAT(own.environment, IsSupersetOf(job::Environment{{"PACELINE_ROLE", "worker"},
                                                               {"PACELINE_INDEX", "2"},
                                                               {"PACELINE_FOLDER", "/jobs"},
                                                               {"PACELINE_DEVICE", "cpu"},
                                                               {"PACELINE_JOB", folder->JobFile()},
                                                               {"A", "b"},
                                                               {"OMP_NUM_THREADS", "1"}}));
    const Command server = LaunchCommand(
        options, *folder, {.name = "digits-ps-0", .role = job::Role::kParameterServer, .index = 0});
    EXPECT_THAT(server.arguments, Contains("/out/model.safetensors"));
    EXPECT_THAT(server.environment, IsEmpty());
  }
  std::filesystem::remove_all(parent);
}

}  // namespace
}  // namespace paceline::local
