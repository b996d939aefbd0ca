#include "lib/worker/pacings/own_deltas.h"

#include <random>

#include <gmock/gmock.h>

namespace paceline::worker {
namespace {

using ::testing::ElementsAre;

std::vector<float> On(const OwnDeltas& own, std::vector<float> version) {
  own.AddTo(version);
  return version;
}

TEST(OwnDeltas, WhatAVersionLacksGoesOnTopOfIt) {
  OwnDeltas own(2);
  own.Add(std::vector<float>{1, 2});
  EXPECT_THAT(On(own, {10, 20}), ElementsAre(11, 22));
}

TEST(OwnDeltas, WhatAVersionHoldsIsNotAppliedTwice) {
  OwnDeltas own(1);
  own.Add(std::vector<float>{1});
  own.Name(Sequence(1));
  own.Answered(Sequence(1));
  EXPECT_THAT(On(own, {10}), ElementsAre(10));
  EXPECT_EQ(own.size(), 0u);
}

// Two answers under way: the first one's version holds the first push only.
TEST(OwnDeltas, OnlyWhatComesAfterTheAnsweredOneIsAdded) {
  OwnDeltas own(1);
  own.Add(std::vector<float>{1});
  own.Add(std::vector<float>{2});
  own.Add(std::vector<float>{4});
  own.Name(Sequence(5));
  own.Name(Sequence(7));  // 6 was an abandoned step.
  EXPECT_EQ(own.LeftAfter(std::nullopt), 3u);
  EXPECT_EQ(own.LeftAfter(Sequence(6)), 2u);
  own.Answered(Sequence(6));
  EXPECT_THAT(On(own, {10}), ElementsAre(16));
  own.Answered(Sequence(7));
  EXPECT_THAT(On(own, {10}), ElementsAre(14));
}

TEST(OwnDeltas, APushThatIsNotSentYetIsInNoVersion) {
  OwnDeltas own(1);
  own.Add(std::vector<float>{1});
  own.Answered(Sequence(100));
  EXPECT_THAT(On(own, {10}), ElementsAre(11));
}

TEST(OwnDeltas, AnAnswerThatComesTwiceOrLateChangesNothing) {
  OwnDeltas own(1);
  own.Add(std::vector<float>{1});
  own.Name(Sequence(1));
  own.Add(std::vector<float>{2});
  own.Name(Sequence(2));
  own.Answered(Sequence(2));
  own.Answered(Sequence(1));
  own.Answered(Sequence(2));
  EXPECT_THAT(On(own, {10}), ElementsAre(10));
}

TEST(OwnDeltas, ARejectedPushIsAwaitedButNeverAdded) {
  OwnDeltas own(1);
  own.Add(std::vector<float>{1});
  own.AddRejected();
  own.Name(Sequence(1));
  own.Name(Sequence(2));
  EXPECT_THAT(On(own, {10}), ElementsAre(11));
  EXPECT_EQ(own.LeftAfter(Sequence(1)), 1u);
  EXPECT_EQ(own.LeftAfter(Sequence(2)), 0u);
}

TEST(OwnDeltas, ShardsMayAnswerWithDifferentVersions) {
  OwnDeltas own(4);
  own.Add(std::vector<float>{1, 1, 1, 1});
  own.Add(std::vector<float>{2, 2, 2, 2});
  own.Name(Sequence(1));
  own.Name(Sequence(2));
  std::vector<float> values = {10, 10, 10, 10};
  own.AddTo(std::span(values).first(2), 0, Sequence(1));
  own.AddTo(std::span(values).subspan(2), 2, Sequence(2));
  EXPECT_THAT(values, ElementsAre(12, 12, 10, 10));
}

// A server that adds each push with some weight, and a worker with any number of answers under way:
// taken together, the version that the worker holds and what it adds are always all of its own
// pushes, each once. The others' updates are on top of neither.
TEST(OwnDeltas, VersionAndOwnDeltasAreAlwaysAllPushesOnce) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 chance(seed);
    OwnDeltas own(1);
    std::deque<float> sent;  // Pushed, and not applied by the server.
    float pushed = 0, server = 0, held = 0;
    uint64_t arrived = 0, numbered = 0;
    Sequence applied;
    for (int i = 0; i < 200; ++i) {
      switch (chance() % 4) {
        case 0: {  // Push.
          const float delta = static_cast<float>(chance() % 64);
          own.Add(std::vector<float>{delta});
          own.Name(Sequence(++numbered));
          sent.push_back(delta);
          pushed += delta;
          break;
        }
        case 1:  // It arrives.
          if (sent.empty()) break;
          server += sent.front();
          sent.pop_front();
          applied = Sequence(++arrived);
          break;
        default:  // The answer is pulled, maybe not for the first time.
          held = server;
          own.Answered(applied);
      }
      if (i % 4 == 3) {
        held = server;
        own.Answered(applied);
        EXPECT_THAT(On(own, {held}), ElementsAre(pushed)) << "seed " << seed << " at " << i;
      }
    }
  }
}

// The server adds a share of each delta (1/n), the worker all of it on top of its copy: it foresees
// that the others move alike. Where all do, the copy is what the version will be.
TEST(OwnDeltas, AllOfTheOwnDeltaForeseesThatTheOthersMoveAlike) {
  constexpr int kWorkers = 4;
  float server = 0;
  std::vector<OwnDeltas> own(kWorkers, OwnDeltas(1));
  std::vector<float> copies;
  for (OwnDeltas& one : own) {
    one.Add(std::vector<float>{-8});
    copies.push_back(On(one, {server})[0]);
  }
  for (int i = 0; i < kWorkers; ++i) server += -8.0f / kWorkers;
  for (const float copy : copies) EXPECT_EQ(copy, server);
}

TEST(OwnDeltas, ClearForgetsEverything) {
  OwnDeltas own(1);
  own.Add(std::vector<float>{1});
  own.AddRejected();
  own.Clear();
  EXPECT_EQ(own.size(), 0u);
  EXPECT_THAT(On(own, {10}), ElementsAre(10));
}

}  // namespace
}  // namespace paceline::worker
