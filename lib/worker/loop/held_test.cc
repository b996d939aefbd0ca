// A version that the trainer computes on where the shards have it, and when it is on its own
// memory.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/worker/loop/loop.h"
#include "lib/worker/loop/loop_testing.h"

namespace paceline::worker {
namespace {

using namespace loop_testing;  // NOLINT: its fakes are this test's language.

TEST(HeldVersion, ComputesOnAVersionWhereItLiesIfItCan) {
  Fixture f;
  f.world.computes_anywhere = f.world.holds = true;
  f.world.sessions = {
      {Admit(1), protocol::Shards{}, Release(0, 7), Release(1, 8), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls, (std::vector<std::string>{"hold v0", "step there", "push w2 i1 #1 16",
                                                     "hold v1", "step there", "push w2 i1 #2 16"}));
  const auto pushes = Sent<protocol::PushDone>(f.world);
  ASSERT_EQ(pushes.size(), 2u);
  EXPECT_EQ(pushes[1].based_on, Version(1));
  EXPECT_EQ(pushes[1].traffic.pulled_bytes, 16u);
}

TEST(HeldVersion, PullsWhereShardsOrTrainerWantACopy) {
  for (const bool trainer_can : {false, true}) {
    Fixture f;
    f.world.computes_anywhere = trainer_can;
    f.world.holds = !trainer_can;
    f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 7), protocol::Finish{"done"}}};
    ASSERT_TRUE(f.loop.Run().ok());
    EXPECT_EQ(f.world.calls[0], "pull v0");
    if (trainer_can) {
      EXPECT_EQ(f.world.calls[1], "step on its own");
    }
  }
}

// Local steps write to the parameters, and evaluations of the next session are of its own values.
TEST(HeldVersion, LocalStepsAreMadeOnItsOwnMemory) {
  Fixture f;
  f.world.computes_anywhere = f.world.holds = true;
  protocol::Released local = Release(1, 8);
  local.assignment.pacing = sync::Pacing::kKeepGoing;
  f.world.sessions = {
      {Admit(1), protocol::Shards{}, Release(0, 7), local, protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls,
            (std::vector<std::string>{"hold v0", "step there", "push w2 i1 #1 16", "own", "pull v1",
                                      "step on its own", "push w2 i1 #2 16"}));
}

TEST(HeldVersion, WhoWorksAheadDoesSoOnItsOwnMemory) {
  for (const sync::Pacing pacing : {sync::Pacing::kOverlapped, sync::Pacing::kEagerPull}) {
    Fixture f;
    f.world.computes_anywhere = f.world.holds = true;
    protocol::Released ahead = Release(1, 8);
    ahead.assignment.pacing = pacing;
    f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 7), ahead}};
    f.world.pushes_awaited = 2;
    f.world.after_push = {protocol::Finish{"done"}};
    ASSERT_TRUE(f.loop.Run().ok());
    EXPECT_EQ(std::ranges::count(f.world.calls, "step there"), 1) << int(pacing);
    EXPECT_GE(std::ranges::count(f.world.calls, "step on its own"), 1) << int(pacing);
  }
}

// Who does not take it has its own values, wherever those before came from.
TEST(HeldVersion, WhatIsNotTakenIsPulled) {
  Fixture f;
  f.world.computes_anywhere = f.world.holds = true;
  f.world.during_step = [&] { f.world.takes_held = false; };
  f.world.sessions = {
      {Admit(1), protocol::Shards{}, Release(0, 7), Release(1, 8), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls,
            (std::vector<std::string>{"hold v0", "step there", "push w2 i1 #1 16", "hold v1",
                                      "pull v1", "step on its own", "push w2 i1 #2 16"}));
}

// What was held is computed on, or looked at, until there is something else.
TEST(HeldVersion, AHoldThatFailsLeavesItWhereItIsUntilTheShardsGo) {
  Fixture f;
  f.world.computes_anywhere = f.world.holds = true;
  f.world.during_step = [&] { f.world.hold_status = Unavailable("a shard is gone"); };
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 7), Release(1, 8)},
                      {Admit(2), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls, (std::vector<std::string>{"hold v0", "step there", "push w2 i1 #1 16",
                                                     "hold v1", "own", "shards end"}));
}

TEST(HeldVersion, OtherShardsInTheSameSessionHoldNothingOfThose) {
  Fixture f;
  f.world.computes_anywhere = f.world.holds = true;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 7), protocol::Shards{},
                       Release(1, 8), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls,
            (std::vector<std::string>{"hold v0", "step there", "push w2 i1 #1 16", "own",
                                      "shards end", "hold v1", "step there", "push w2 i1 #1 16"}));
}

TEST(HeldVersion, AModelThatBeginsAnewIsItsOwn) {
  Fixture f;
  f.world.computes_anywhere = f.world.holds = true;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 7)},
                      {Admit(2), protocol::Shards{}, protocol::Fill{}, protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls,
            (std::vector<std::string>{"hold v0", "step there", "push w2 i1 #1 16", "own",
                                      "shards end", "begin anew", "fill w2 i2 16"}));
}

}  // namespace
}  // namespace paceline::worker
