// Shards and coordinators that are killed, jobs that are suspended and go on, volumes that are full
// or damaged: training goes on from the newest complete checkpoint, and every sample counts once.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "lib/base/testing/places.h"
#include "lib/store/checkpoints/checkpoint_folder.h"
#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr uint64_t kEpochs = 15;

// The sample job, from any folder.
std::string Sample() {
  std::string text = ReadText(SampleManifest());
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace("name: digits", "name: t");
  replace(": digits/", ": " + InSource("deploy/samples/digits/"));
  return text;
}

// A network that is large enough for both shards to hold some of it.
std::string Large() {
  std::string text = DigitsManifest();
  const std::string small = "hidden: 64";
  return text.replace(text.find(small), small.size(), "hidden: 600");
}

// Steps that take a while, so that a run lasts long enough to be disturbed.
std::vector<std::string> Slow(uint64_t epochs, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments =
      Sets(Paced(0.002, {"spec.parameterServer.shards=2",
                         fmt::format("spec.training.stop.maxEpochs={}", epochs)}));
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

uint64_t CheckpointOf(const Json& state) {
  return state["checkpoint"].value("version", uint64_t{0});
}

bool IsTraining(const Json& state) { return state["phase"] == "training"; }

class RecoveryTest : public ::testing::Test {
 protected:
  std::string Volume() const { return volume_.path() + "/checkpoints"; }
  // The same file for all runs of a test.
  std::string WithCheckpoints(const std::string& job = Sample()) const {
    return volume_.Write(
        "job.yaml", job + fmt::format("  checkpoint: {{periodSeconds: 300ms, keep: 3, volume: "
                                      "{{hostPath: {{path: {}, type: DirectoryOrCreate}}}}}}\n",
                                      Volume()));
  }
  // Of the only run that has one.
  std::string RunOnVolume() const { return fs::directory_iterator(Volume())->path().string(); }
  std::string Without(const TestFolder& folder) const {
    return folder.Write("job.yaml", Sample() + "  checkpoint: {enabled: false}\n");
  }

  // In training, with a checkpoint to go back to that is not of startup, and something beyond it.
  Json IntoTraining(LiveRun& run, bool has_checkpoints) {
    Json state = run.WaitFor([&](const Json& now) {
      const bool is_kept = !has_checkpoints || CheckpointOf(now) > 0;
      return IsTraining(now) && is_kept && now["step"] >= CheckpointOf(now) + 3;
    });
    EXPECT_FALSE(state.is_null());
    return state;
  }

  void Kill(LiveRun& run, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const pid_t victim = run.PidOf(name);
      ASSERT_GT(victim, 0) << name;
      ASSERT_EQ(kill(victim, SIGKILL), 0);
    }
  }

  void ExpectAllWell(const Ended& ended, uint64_t epochs = kEpochs) {
    ASSERT_EQ(ended.code, 0) << ended.err;
    ExpectEverySampleOnce(ended.last_state, epochs);
    EXPECT_GE(ended.summary["accuracy"].get<double>(), 0.97);
  }

  TestFolder volume_;
};

TEST_F(RecoveryTest, KilledShardComesBackAndAllGoBackToTheCheckpoint) {
  const TestFolder folder;
  LiveRun run(folder, WithCheckpoints(), Slow(kEpochs));
  const Json before = IntoTraining(run, true);
  Kill(run, {"ps-1"});
  const Json after =
      run.WaitFor([](const Json& now) { return now["rollBacks"] == 1 && IsTraining(now); });
  ASSERT_FALSE(after.is_null()) << run.LogOf("ps-0");
  EXPECT_GE(after["checkpoint"].value("restoredFrom", uint64_t{0}), CheckpointOf(before));
  EXPECT_EQ(after["generationStart"], 1);
  EXPECT_EQ(after["generationCounter"], 1);
  EXPECT_THAT(after["lastRollBack"].get<std::string>(), HasSubstr("shard s1 lost"));
  const Ended ended = run.Wait();
  ExpectAllWell(ended);
  EXPECT_THAT(ended.err, HasSubstr("rolled back: shard s1 lost"));
  EXPECT_EQ(ended.last_state["rollBacks"], 1);
}

TEST_F(RecoveryTest, KilledCoordinatorGoesOnFromTheCheckpoint) {
  const TestFolder folder;
  LiveRun run(folder, WithCheckpoints(), Slow(kEpochs));
  const Json before = IntoTraining(run, true);
  const pid_t shard = run.PidOf("ps-1");
  const pid_t worker = run.PidOf("worker-2");
  Kill(run, {"ps-0"});
  const Json after =
      run.WaitFor([](const Json& now) { return now["generationStart"] == 2 && IsTraining(now); });
  ASSERT_FALSE(after.is_null()) << run.LogOf("ps-0");
  EXPECT_GE(after["checkpoint"].value("restoredFrom", uint64_t{0}), CheckpointOf(before));
  EXPECT_EQ(run.PidOf("ps-1"), shard) << "nobody else is started again";
  EXPECT_EQ(run.PidOf("worker-2"), worker);
  const Ended ended = run.Wait();
  ExpectAllWell(ended);
  EXPECT_THAT(ended.err, HasSubstr("goes on from version"));
}

TEST_F(RecoveryTest, KilledShardAndCoordinatorAtOnce) {
  const TestFolder folder;
  LiveRun run(folder, WithCheckpoints(), Slow(kEpochs));
  IntoTraining(run, true);
  Kill(run, {"ps-1", "ps-0"});
  ExpectAllWell(run.Wait());
}

TEST_F(RecoveryTest, AllProcessesKilledOneAfterTheOther) {
  const TestFolder folder;
  LiveRun run(folder, WithCheckpoints(), Slow(kEpochs));
  for (const char* name : {"ps-1", "worker-0", "ps-0", "evaluator"}) {
    IntoTraining(run, true);
    Kill(run, {name});
  }
  ExpectAllWell(run.Wait());
}

TEST_F(RecoveryTest, WithoutAVolumeTheJobBeginsAnew) {
  for (const char* victim : {"ps-1", "ps-0"}) {
    const TestFolder folder;
    LiveRun run(folder, Without(folder), Slow(kEpochs));
    // What a lost coordinator had done is known from the command's last look, of five a second.
    EXPECT_TRUE(run.MovesOn(IntoTraining(run, false), 60));
    Kill(run, {victim});
    const Ended ended = run.Wait();
    ExpectAllWell(ended);
    const bool is_told = ended.err.find("begun anew") != std::string::npos;
    EXPECT_EQ(is_told, victim == std::string("ps-1")) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("a lost parameter server costs everything since the start: "
                                     "spec.checkpoint.enabled is false"));
    EXPECT_GE(ended.summary["lostSteps"], 1) << ended.out;
    EXPECT_EQ(ended.summary["rollBacks"], 1);
  }
}

// Nobody asked for checkpoints: there are some, until the job has succeeded.
TEST_F(RecoveryTest, ByDefaultARunKeepsItsOwnAndIsResumed) {
  const TestFolder folder;
  const std::string job = folder.Write("job.yaml", Sample());
  std::string first;
  uint64_t step = 0;
  {
    LiveRun run(folder, job, Slow(kEpochs));
    IntoTraining(run, false);
    first = run.RunFolder();
    run.Signal(SIGINT);
    const Ended ended = run.Wait();
    EXPECT_EQ(ended.code, 130) << ended.err;
    step = ended.last_state["step"];
    EXPECT_EQ(CheckpointOf(ended.last_state), step) << ended.err;
    EXPECT_TRUE(fs::exists(first + "/checkpoints"));
  }
  std::vector<std::string> arguments = {"paceline", "run", job,   "--runs", folder.path() + "/runs",
                                        "--resume", "-o",  "json"};
  const std::vector<std::string> slow = Slow(kEpochs);
  arguments.insert(arguments.end(), slow.begin(), slow.end());
  const Ended ended = RunProgram(arguments, 120);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(fmt::format("training goes on from version {}", step)));
  for (const auto& entry : fs::directory_iterator(folder.path() + "/runs"))
    EXPECT_FALSE(fs::exists(entry.path() / "checkpoints")) << entry.path();
}

// A lost shard or coordinator costs what came after the last of them, not everything.
TEST_F(RecoveryTest, ByDefaultALostServerGoesBackToTheRunsOwnCheckpoint) {
  for (const char* victim : {"ps-1", "ps-0"}) {
    const TestFolder folder;
    LiveRun run(folder, folder.Write("job.yaml", Sample()),
                Slow(kEpochs, Sets({"spec.parameterServer.template={spec: {containers: [{name: ps, "
                                    "args: [--default-checkpoint-seconds, \"2\"]}]}}"})));
    const Json before = IntoTraining(run, true);
    const std::string checkpoints = run.RunFolder() + "/checkpoints";
    const auto scan = store::ScanCheckpoints(checkpoints);
    ASSERT_TRUE(scan.ok() && !scan->complete.empty()) << checkpoints;
    Kill(run, {victim});
    const bool is_coordinator = victim == std::string("ps-0");
    const Json after = run.WaitFor([&](const Json& now) {
      return IsTraining(now) &&
             (is_coordinator ? now["generationStart"] == 2 : now["rollBacks"] == 1);
    });
    ASSERT_FALSE(after.is_null()) << run.LogOf("ps-0");
    const auto restored = after["checkpoint"].value("restoredFrom", uint64_t{0});
    EXPECT_GT(CheckpointOf(before), 0);
    EXPECT_GE(restored, CheckpointOf(before)) << after["lastRollBack"];
    const Ended ended = run.Wait();
    ExpectAllWell(ended);
    EXPECT_EQ(ended.summary["rollBacks"], 1);
    EXPECT_THAT(ended.err, Not(HasSubstr("a lost parameter server costs everything")));
    // Of a lost coordinator only what was last seen of it is known.
    if (!is_coordinator) {
      EXPECT_GT(after["lostSteps"], 0);
      EXPECT_GT(after["lostSeconds"], 0.0);
      EXPECT_EQ(ended.last_state["lostSteps"], after["lostSteps"]);
      EXPECT_EQ(ended.summary["lostSteps"], after["lostSteps"]);
      EXPECT_NEAR(ended.summary["lostSeconds"].get<double>(), after["lostSeconds"].get<double>(),
                  0.001);
      EXPECT_THAT(ended.err, HasSubstr(fmt::format("back to version {}", restored)));
    }
    EXPECT_FALSE(fs::exists(checkpoints));
  }
}

TEST_F(RecoveryTest, SuspendedInTheMiddleAndResumed) {
  {
    const TestFolder folder;
    LiveRun run(folder, WithCheckpoints(), Slow(kEpochs));
    IntoTraining(run, true);
    run.Signal(SIGINT);
    const Ended ended = run.Wait();
    EXPECT_EQ(ended.code, 130) << ended.err;
    // The newest version there was, not only the last period's.
    EXPECT_EQ(CheckpointOf(ended.last_state), ended.last_state["step"]) << run.LogOf("ps-0");
    EXPECT_TRUE(ended.last_state.contains("suspended"));
  }
  const TestFolder folder;
  const Ended ended = RunToEnd(folder, WithCheckpoints(), Slow(kEpochs));
  ExpectAllWell(ended);
  EXPECT_THAT(ended.err, HasSubstr("training goes on from version"));
}

TEST_F(RecoveryTest, FinishedRunIsNotMistakenForThisOne) {
  const TestFolder first;
  ASSERT_EQ(RunToEnd(first, WithCheckpoints(), Slow(1)).code, 0);
  {
    const TestFolder folder;
    const Ended ended = RunToEnd(folder, WithCheckpoints(), Slow(1));
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("it ended well; --resume goes on from it"));
    EXPECT_GT(ended.summary["samplesPerSecond"], 0) << "it was trained, not only looked up";
    ExpectEverySampleOnce(ended.last_state, 1);
  }
  const TestFolder folder;
  const Ended ended = RunToEnd(folder, WithCheckpoints(), Slow(2, {"--resume"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("training goes on from version"));
  ExpectEverySampleOnce(ended.last_state, 2);
}

TEST_F(RecoveryTest, ResumeWantsSomethingToResume) {
  const TestFolder folder;
  const Ended ended = RunToEnd(folder, WithCheckpoints(), Slow(1, {"--resume"}), 60);
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("there is no complete checkpoint of"));
}

TEST_F(RecoveryTest, DamagedNewestCheckpointFallsBackAloud) {
  {
    const TestFolder folder;
    LiveRun run(folder, WithCheckpoints(), Slow(kEpochs));
    ASSERT_FALSE(run.WaitFor([](const Json& now) { return CheckpointOf(now) > 30; }).is_null());
    run.Signal(SIGINT);
    run.Wait();
  }
  const auto scan = store::ScanCheckpoints(RunOnVolume());
  ASSERT_TRUE(scan.ok() && scan->complete.size() >= 2);
  const store::CheckpointManifest& newest = scan->complete[0].manifest;
  fs::resize_file(store::SlicePath(RunOnVolume(), newest.name, ShardId(1)), 100);
  const TestFolder folder;
  LiveRun run(folder, WithCheckpoints(), Slow(kEpochs));
  const Ended ended = run.Wait();
  ExpectAllWell(ended);
  EXPECT_THAT(ended.err, HasSubstr("checkpoint " + newest.name + " cannot be restored: shard s1"));
}

// As in a sweep. Each goes back to what is its own, whatever dies.
TEST_F(RecoveryTest, TwoRunsOfOneManifestAtOnceKeepTheirOwn) {
  const TestFolder one, two;
  LiveRun first(one, WithCheckpoints(), Slow(kEpochs));
  IntoTraining(first, true);
  LiveRun second(two, WithCheckpoints(),
                 Slow(kEpochs, {"--set", "spec.training.learningRate.base=0.0001"}));
  IntoTraining(second, true);
  Kill(first, {"ps-0"});
  Kill(second, {"ps-0"});
  const Ended ended = first.Wait(), other = second.Wait();
  ExpectAllWell(ended);
  ASSERT_EQ(other.code, 0) << other.err;
  ExpectEverySampleOnce(other.last_state, kEpochs);
  EXPECT_THAT(other.err, HasSubstr("it goes on: run " + first.RunFolder()));
  EXPECT_FALSE(ReadModel(ended.summary["model"]) == ReadModel(other.summary["model"]));
}

TEST_F(RecoveryTest, ARunThatWouldWriteALiveRunsModelIsRefused) {
  const std::string manifest = volume_.Write(
      "job.yaml",
      Sample() + fmt::format("  output: {{volume: {{hostPath: {{path: {}, type: "
                             "DirectoryOrCreate}}}}}}\n  checkpoint: {{enabled: false}}\n",
                             Volume()));
  const TestFolder one, two;
  LiveRun first(one, manifest, Slow(kEpochs));
  IntoTraining(first, false);
  const Ended refused = RunToEnd(two, manifest, Slow(1), 60);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr(Volume() + "/model.safetensors: run " + first.RunFolder()));
  EXPECT_FALSE(fs::exists(two.path() + "/runs")) << "it leaves nothing behind";
  first.Signal(SIGINT);
  EXPECT_EQ(first.Wait().code, 130);
  EXPECT_EQ(RunToEnd(two, manifest, Slow(1)).code, 0);
}

TEST_F(RecoveryTest, FullVolumeIsToldOfAndTrainingGoesOn) {
  fs::create_directory(Volume());
  // Room for the first slices, not for many.
  if (mount("none", Volume().c_str(), "tmpfs", 0, "size=900k") != 0)
    GTEST_SKIP() << "mounting a small tmpfs needs the right to mount";
  const TestFolder folder;
  LiveRun run(folder, WithCheckpoints(Large()), Slow(3));
  const Json state =
      run.WaitFor([](const Json& now) { return now["checkpoint"]["problem"] != ""; });
  const Ended ended = run.Wait();
  umount(Volume().c_str());
  ASSERT_FALSE(state.is_null());
  EXPECT_THAT(state["checkpoint"]["problem"].get<std::string>(),
              HasSubstr("No space left on device"));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("training goes on, but checkpoint "));
  ExpectEverySampleOnce(ended.last_state, 3);
}

// --- To the last bit.

std::string Deterministic(const std::string& volume) {
  std::string manifest = Large();
  const std::string seed = "    seed: 1\n";
  manifest.replace(manifest.find(seed), seed.size(), seed + "    deterministic: true\n");
  return manifest + fmt::format(
                        "  checkpoint: {{periodSeconds: 200ms, volume: {{hostPath: {{path: "
                        "{}, type: DirectoryOrCreate}}}}}}\n",
                        volume);
}

TEST_F(RecoveryTest, DeterministicRunIsTheSameToTheLastBitHoweverItIsDisturbed) {
  const TestFolder calm_folder;
  const Ended calm = RunToEnd(
      calm_folder, calm_folder.Write("job.yaml", Deterministic(volume_.path() + "/calm")), Slow(3));
  ASSERT_EQ(calm.code, 0) << calm.err;
  const std::string manifest = Deterministic(Volume());
  {
    const TestFolder folder;
    LiveRun run(folder, volume_.Write("job.yaml", manifest), Slow(3));
    IntoTraining(run, true);
    Kill(run, {"ps-1"});
    const Json back = run.WaitFor([](const Json& now) {
      return now["rollBacks"] == 1 && IsTraining(now) && now["step"] > CheckpointOf(now);
    });
    ASSERT_FALSE(back.is_null());
    run.Signal(SIGINT);
    EXPECT_EQ(run.Wait().code, 130);
  }
  const TestFolder folder;
  const Ended ended = RunToEnd(folder, volume_.Write("job.yaml", manifest), Slow(3));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("training goes on from version"));
  const auto want = ReadModel(calm.summary["model"]);
  ASSERT_GE(want.size(), 2u);
  EXPECT_TRUE(ReadModel(ended.summary["model"]) == want)
      << "largest difference " << LargestDifference(ReadModel(ended.summary["model"]), want);
}

}  // namespace
}  // namespace paceline::integration
