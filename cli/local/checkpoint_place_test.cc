#include "cli/local/checkpoint_place.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/store/checkpoints/checkpoint_folder.h"

namespace paceline::local {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckpointPlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "volume-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    volume_ = pattern;
  }
  void TearDown() override { fs::remove_all(volume_); }

  static job::TrainingJob Job(const std::string& name = "digits") {
    job::TrainingJob job;
    job.metadata.name = name;
    job.spec.training.global_batch_size = 32;
    job.spec.training.stop.max_epochs = 3;
    return job;
  }
  CheckpointWish Wish(const std::string& run, const std::string& resume = "auto") const {
    return {.volume = volume_,
            .run = run,
            .manifest = "/jobs/digits.yaml",
            .job = Job(),
            .resume = resume,
            .owner = "run " + run};
  }
  // A complete checkpoint, written so many minutes ago.
  void Write(const std::string& folder, uint64_t version, int minutes_ago,
             const std::string& run) const {
    const Generation generation{1, 0};
    const std::string name = store::CheckpointName(version, generation, Version(version));
    ASSERT_TRUE(store::MakeCheckpointFolder(folder, name).ok());
    ASSERT_TRUE(store::CompleteCheckpoint(folder,
                                          {.name = name,
                                           .serial = version,
                                           .generation = generation,
                                           .version = Version(version),
                                           .run = run,
                                           .state = {},
                                           .shards = {}},
                                          "{}")
                    .ok());
    fs::last_write_time(folder + "/" + name + "/manifest.json",
                        fs::file_time_type::clock::now() - std::chrono::minutes(minutes_ago));
  }
  // A run that has ended, with a checkpoint.
  void Ran(const CheckpointWish& wish, uint64_t version, int minutes_ago) const {
    const auto place = TakeCheckpointPlace(wish);
    ASSERT_TRUE(place.ok()) << place.status();
    Write(place->folder, version, minutes_ago, wish.run);
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(volume_)) names.insert(entry.path().filename());
    return names;
  }

  std::string volume_;
};

TEST_F(CheckpointPlaceTest, AFirstRunHasAFolderOfItsOwnAndSaysNothing) {
  const auto place = TakeCheckpointPlace(Wish("one"));
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->folder, volume_ + "/one");
  EXPECT_TRUE(place->lock.is_held());
  EXPECT_FALSE(place->goes_on);
  EXPECT_EQ(place->note, "");
}

TEST_F(CheckpointPlaceTest, AnInterruptedRunIsGoneOnFrom) {
  Ran(Wish("one"), 7, 1);
  const auto place = TakeCheckpointPlace(Wish("two"));
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_TRUE(place->goes_on);
  EXPECT_EQ(store::ScanCheckpoints(volume_ + "/two")->complete.size(), 1u);
  EXPECT_FALSE(fs::exists(volume_ + "/one"));
}

TEST_F(CheckpointPlaceTest, ARunThatLivesKeepsWhatItHas) {
  const auto first = TakeCheckpointPlace(Wish("one"));
  ASSERT_TRUE(first.ok()) << first.status();
  Write(first->folder, 7, 1, "one");
  const auto second = TakeCheckpointPlace(Wish("two"));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(second->goes_on);
  EXPECT_EQ(second->folder, volume_ + "/two");
  EXPECT_THAT(second->note, AllOf(HasSubstr("begins anew beside " + volume_ + "/one"),
                                  HasSubstr("it goes on: run one")));
  const auto asked = TakeCheckpointPlace(Wish("three", "always"));
  EXPECT_EQ(asked.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(asked.status()), HasSubstr("a run that goes on: run one"));
  EXPECT_EQ(store::ScanCheckpoints(volume_ + "/one")->complete.size(), 1u);
}

TEST_F(CheckpointPlaceTest, WhatIsOfAnotherTrainingIsLeftAndSaid) {
  struct Case {
    CheckpointWish wish;
    std::string why;
  };
  std::vector<Case> cases;
  cases.push_back({Wish("other"), "another manifest, /jobs/other.yaml"});
  cases.back().wish.manifest = "/jobs/other.yaml";
  cases.push_back({Wish("name"), "its job is cifar"});
  cases.back().wish.job = Job("cifar");
  cases.push_back({Wish("seed"), "spec.training.seed"});
  cases.back().wish.job.spec.training.seed = 7;
  for (const Case& other : cases) {
    Ran(other.wish, 7, 1);
    const auto place = TakeCheckpointPlace(Wish("mine"));
    ASSERT_TRUE(place.ok()) << place.status();
    EXPECT_FALSE(place->goes_on) << other.why;
    EXPECT_THAT(place->note, HasSubstr(other.why));
    EXPECT_EQ(Names(), (std::set<std::string>{"mine", other.wish.run}));
    for (const std::string& name : Names()) fs::remove_all(volume_ + "/" + name);
  }
}

TEST_F(CheckpointPlaceTest, AChangeThatMayBeMadeGoesOn) {
  Ran(Wish("one"), 7, 1);
  CheckpointWish wish = Wish("two");
  wish.job.spec.training.learning_rate.base = 0.5;
  EXPECT_TRUE(TakeCheckpointPlace(wish)->goes_on);
}

TEST_F(CheckpointPlaceTest, OfASweepEachRunGoesOnFromItsOwn) {
  CheckpointWish fast = Wish("fast");
  fast.job.spec.training.learning_rate.base = 0.5;
  auto first = TakeCheckpointPlace(Wish("slow"));
  auto second = TakeCheckpointPlace(fast);
  Write(first->folder, 3, 5, "slow");
  Write(second->folder, 9, 1, "fast");
  first->lock = {};
  second->lock = {};
  const auto again = TakeCheckpointPlace(Wish("slow-again"));
  EXPECT_TRUE(again->goes_on);
  EXPECT_EQ(store::ScanCheckpoints(again->folder)->complete.front().manifest.version, Version(3));
}

TEST_F(CheckpointPlaceTest, WhatEndedWellIsGoneOnFromWhenAsked) {
  Ran(Wish("interrupted"), 3, 5);
  Ran(Wish("fresh", "never"), 9, 1);
  ASSERT_TRUE(store::WriteFinishedRun(volume_ + "/fresh", "fresh").ok());
  const auto anew = TakeCheckpointPlace(Wish("anew"));
  EXPECT_FALSE(anew->goes_on);
  EXPECT_THAT(anew->note,
              AllOf(HasSubstr(volume_ + "/fresh: it ended well"), HasSubstr("--resume")));
  const auto asked = TakeCheckpointPlace(Wish("asked", "always"));
  EXPECT_TRUE(asked->goes_on);
  EXPECT_EQ(store::ScanCheckpoints(asked->folder)->complete.front().manifest.version, Version(9));
}

TEST_F(CheckpointPlaceTest, AskedForWhatIsNotThereItSaysSo) {
  CheckpointWish other = Wish("other");
  other.job = Job("cifar");
  Ran(other, 7, 1);
  const auto place = TakeCheckpointPlace(Wish("mine", "always"));
  EXPECT_EQ(place.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(place.status()), HasSubstr("no complete checkpoint of digits"));
}

TEST_F(CheckpointPlaceTest, CheckpointsInTheOldPlaceAreFoundAndMoved) {
  Write(volume_, 3, 5, "digits-1");
  Write(volume_, 7, 1, "digits-1");
  const auto place = TakeCheckpointPlace(Wish("two"));
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_TRUE(place->goes_on);
  EXPECT_EQ(store::ScanCheckpoints(place->folder)->complete.size(), 2u);
  EXPECT_TRUE(store::ScanCheckpoints(volume_)->complete.empty());
}

TEST_F(CheckpointPlaceTest, WhereItCannotBeWrittenDownWhatARunTrainsItTrainsAllTheSame) {
  fs::create_directories(volume_ + "/one/run.json");  // As good as a full disk.
  const auto place = TakeCheckpointPlace(Wish("one"));
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_TRUE(place->lock.is_held());
  EXPECT_THAT(place->note, HasSubstr("no other run will go on from this one's checkpoints"));
}

TEST_F(CheckpointPlaceTest, AnIncompleteOrStrangeFolderIsNobodysRun) {
  fs::create_directories(volume_ + "/strange/000001-g1.0-v0");
  std::ofstream(volume_ + "/file").put('x');
  const auto place = TakeCheckpointPlace(Wish("one"));
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->note, "");
  Write(volume_ + "/unknown", 7, 1, "unknown");  // Without run.json.
  const auto second = TakeCheckpointPlace(Wish("two"));
  EXPECT_FALSE(second->goes_on);
  EXPECT_THAT(second->note, HasSubstr("does not say what it trained"));
}

}  // namespace
}  // namespace paceline::local
