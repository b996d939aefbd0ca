// Jobs one after another on one volume for checkpoints, as pods of a cluster have it.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/tcp_job.h"

namespace paceline::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

std::string ManifestOf(const std::string& uid) {
  std::string manifest = DigitsManifest();
  const std::string name = "{name: t}";
  manifest.replace(manifest.find(name), name.size(), "{name: t, uid: " + uid + "}");
  return manifest;
}

// What its coordinator made of the volume, once the job with this uid is over. Where nothing is
// left to do it needs no worker.
Json Trained(const std::string& volume, const std::string& uid, const std::string& resume,
             int epochs, int workers = 1) {
  const TestFolder folder;
  TcpJob job(folder, {.manifest = ManifestOf(uid),
                      .overrides = {"spec.workers.replicas=1", "spec.data.eval=null",
                                    fmt::format("spec.training.stop.maxEpochs={}", epochs),
                                    "spec.checkpoint={volume: {hostPath: {path: /x}}}"}});
  job.StartPs(0, {"--checkpoint", volume, "--resume", resume});
  if (workers > 0) job.StartWorker(0);
  EXPECT_EQ(job.WaitExit("ps-0"), 0) << job.LogOf("ps-0");
  if (workers > 0) {
    EXPECT_EQ(job.WaitExit("worker-0"), 0) << job.LogOf("worker-0");
  }
  return Json::parse(ReadText(job.summary_path()));
}

std::string Note(const Json& summary) { return summary["checkpoint"]["note"]; }

size_t CheckpointsIn(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) count += entry.is_directory() ? 1 : 0;
  return count;
}

TEST(WhoseCheckpoints, AnothersAreUsedOnlyWhereTheJobSaysSoAndNeverTakenAway) {
  const TestFolder folder;
  const std::string volume = folder.path() + "/volume";
  const Json first = Trained(volume, "uid-1", "own", 1);
  EXPECT_EQ(Note(first), "");
  ASSERT_TRUE(fs::exists(volume + "/uid-1"));
  const size_t of_first = CheckpointsIn(volume + "/uid-1");
  EXPECT_GT(of_first, 0u);

  // The next job of that name: anew, and that is said.
  const Json second = Trained(volume, "uid-2", "own", 1);
  EXPECT_THAT(Note(second), AllOf(HasSubstr("begins anew"), HasSubstr("uid-1"),
                                  HasSubstr("spec.checkpoint.resume: FromClaim")));
  EXPECT_FALSE(second["checkpoint"].contains("restoredFrom"));
  EXPECT_EQ(CheckpointsIn(volume + "/uid-1"), of_first);
  EXPECT_TRUE(fs::exists(volume + "/uid-2"));
  fs::remove_all(volume + "/uid-2");

  // One that says so goes on, and writes into a folder of its own.
  const Json third = Trained(volume, "uid-3", "from-claim", 2);
  EXPECT_THAT(Note(third), AllOf(HasSubstr("goes on from version"), HasSubstr("uid-1")));
  EXPECT_EQ(third["checkpoint"]["restoredFrom"], first["step"]);
  EXPECT_EQ(third["step"], 2 * first["step"].get<int>());
  EXPECT_EQ(CheckpointsIn(volume + "/uid-1"), of_first);
  EXPECT_TRUE(fs::exists(volume + "/uid-3"));

  // Its own come before all others.
  const Json again = Trained(volume, "uid-3", "from-claim", 3);
  EXPECT_EQ(again["checkpoint"]["restoredFrom"], third["step"]);
}

TEST(WhoseCheckpoints, OfOthersTheOneThatWroteLastIsGoneOnFrom) {
  const TestFolder folder;
  const std::string volume = folder.path() + "/volume";
  Trained(volume, "uid-1", "own", 1);
  Trained(volume, "uid-3", "own", 1);
  const Json last = Trained(volume, "uid-2", "own", 2);  // Neither the first nor the last by name.
  // As far as it is to go: it needs no worker, whichever it goes on from.
  const Json next = Trained(volume, "uid-4", "from-claim", 1, 0);
  EXPECT_THAT(Note(next), HasSubstr("of another job (uid-2)"));
  EXPECT_EQ(next["checkpoint"]["restoredFrom"], last["step"]);
}

TEST(WhoseModel, ASecondJobThatWouldWriteItIsRefusedByName) {
  const TestFolder volume;
  const std::vector<std::string> place = {"--output", volume.path() + "/model.safetensors",
                                          "--lock-output", "0"};
  const auto job_of = [](const TestFolder& folder, const std::string& uid) {
    return TcpJob(folder, {.manifest = ManifestOf(uid),
                           .overrides = {"spec.workers.replicas=1", "spec.data.eval=null",
                                         "spec.training.stop.maxEpochs=1"}});
  };
  const TestFolder of_first, of_second, of_again;
  TcpJob first = job_of(of_first, "uid-1");
  first.StartPs(0, place);
  ASSERT_TRUE(first.WaitForLog("ps-0", "coordinating"));

  TcpJob second = job_of(of_second, "uid-2");
  second.StartPs(0, place);
  EXPECT_EQ(second.WaitExit("ps-0"), 2) << second.LogOf("ps-0");
  EXPECT_THAT(second.LogOf("ps-0"),
              HasSubstr("spec.output.volume: job uid-1 (default/t) trains and will write the same "
                        "model there"));

  // Started again where its predecessor lives on: on a machine that is cut off, say.
  TcpJob again = job_of(of_again, "uid-1");
  again.StartPs(0, place);
  EXPECT_TRUE(again.WaitForLog("ps-0", "coordinating"));
  EXPECT_THAT(again.LogOf("ps-0"), HasSubstr("an earlier process of this job has it"));
  again.Signal("ps-0", SIGKILL);
  EXPECT_EQ(again.WaitExit("ps-0"), 128 + SIGKILL);

  first.StartWorker(0);
  EXPECT_EQ(first.WaitExit("ps-0"), 0) << first.LogOf("ps-0");
  EXPECT_TRUE(fs::exists(volume.path() + "/model.safetensors"));
  EXPECT_FALSE(fs::exists(volume.path() + "/.model.safetensors.lock"));
}

// It loses nothing by it, however often others come. It keeps all: a checkpoint that it takes away
// while another job reads it fails that job's start, and the next one finds a newer.
TEST(WhoseCheckpoints, OfAJobThatStillTrainsTheyAreGoneOnFromAndThatIsSaid) {
  const TestFolder folder;
  const std::string volume = folder.path() + "/volume";
  TcpJob first(folder, {.manifest = ManifestOf("uid-1"),
                        .overrides = {"spec.workers.replicas=1", "spec.data.eval=null",
                                      "spec.training.stop.maxEpochs=100000",
                                      "spec.checkpoint={periodSeconds: 200ms, keep: 1000, volume: "
                                      "{hostPath: {path: /x}}}"}});
  first.StartPs(0, {"--checkpoint", volume, "--resume", "own"});
  first.StartWorker(0);
  const auto checkpointed = [](const Json& state) {
    return state.is_object() && state.contains("checkpoint") &&
                   state["checkpoint"].contains("version")
               ? state["checkpoint"]["version"].get<int>()
               : 0;
  };
  // From a checkpoint of more than an epoch, the others have nothing left to train.
  int version = first.WaitFor(
      [](const Json& state) { return state.is_object() && state.value("epoch", 0) >= 1; })["step"];
  for (int life = 2; life < 5; ++life) {
    const int past = version;
    version =
        checkpointed(first.WaitFor([&](const Json& state) { return checkpointed(state) > past; }));
    ASSERT_GT(version, past) << first.LogOf("ps-0");
    // As far as it is to go, whatever it goes on from.
    const Json next = Trained(volume, fmt::format("uid-{}", life), "from-claim", 1, 0);
    EXPECT_THAT(Note(next),
                AllOf(HasSubstr("goes on from version"), HasSubstr("(uid-1) that still "
                                                                   "trains and keeps")));
    EXPECT_GE(next["checkpoint"]["restoredFrom"], version);
    fs::remove_all(fmt::format("{}/uid-{}", volume, life));
  }
  first.Signal("ps-0", SIGTERM);
  EXPECT_EQ(first.WaitExit("ps-0"), 143) << first.LogOf("ps-0");
  EXPECT_THAT(Note(Trained(volume, "uid-5", "from-claim", 1, 0)),
              AllOf(HasSubstr("another job (uid-1)"), Not(HasSubstr("still trains"))));
}

TEST(WhoseCheckpoints, TheSpecSaysHowFarTrainingGoesAndWhatChangedIsSaid) {
  const TestFolder folder;
  const std::string volume = folder.path() + "/volume";
  const Json first = Trained(volume, "uid-1", "own", 2);
  const Json same = Trained(volume, "uid-1", "own", 2, 0);
  EXPECT_THAT(Note(same),
              AllOf(HasSubstr("goes on from version"), Not(HasSubstr("spec.training"))));
  const Json further = Trained(volume, "uid-1", "own", 3);
  EXPECT_THAT(Note(further), HasSubstr("; spec.training.stop.maxEpochs was 2, is 3"));
  // Passed already: no step is made, and the model is there.
  const Json passed = Trained(volume, "uid-1", "own", 1, 0);
  EXPECT_THAT(Note(passed), HasSubstr("; spec.training.stop.maxEpochs was 3, is 1"));
  EXPECT_EQ(passed["step"], further["step"]);
  EXPECT_EQ(passed["finishing"]["modelVersion"], further["step"]) << passed.dump(1);
}

TEST(WhoseCheckpoints, WhereThereIsNothingToGoOnFromThatIsSaid) {
  const TestFolder folder;
  const Json only = Trained(folder.path() + "/volume", "uid-1", "from-claim", 1);
  EXPECT_EQ(Note(only), "begins anew: there is no complete checkpoint on the volume to go on from");
}

// Nothing that a second start could do better: it ends with the code that says so, at once.
TEST(WhoseCheckpoints, WhatThisVersionCannotReadEndsTheJobAndNamesTheFile) {
  const TestFolder folder;
  const std::string volume = folder.path() + "/volume";
  const std::string newer = volume + "/uid-1/000007-g1.0-v9";
  fs::create_directories(newer);
  std::ofstream(newer + "/manifest.json") << R"({"format": 99})";
  TcpJob job(folder, {.manifest = ManifestOf("uid-1"),
                      .overrides = {"spec.workers.replicas=1", "spec.data.eval=null",
                                    "spec.checkpoint={volume: {hostPath: {path: /x}}}"}});
  job.StartPs(0, {"--checkpoint", volume, "--resume", "own"});
  EXPECT_EQ(job.WaitExit("ps-0"), 2) << job.LogOf("ps-0");
  EXPECT_THAT(job.LogOf("ps-0"), AllOf(HasSubstr(newer + "/manifest.json"),
                                       HasSubstr("format 99, this version reads 1"),
                                       HasSubstr("move " + newer + " away")));
  EXPECT_TRUE(fs::exists(newer + "/manifest.json"));
}

}  // namespace
}  // namespace paceline::integration
