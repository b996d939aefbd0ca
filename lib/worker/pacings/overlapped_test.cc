#include "lib/worker/pacings/overlapped.h"

#include <limits>
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/worker/pacings/work_ahead_testing.h"

namespace paceline::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

struct Fixture : testing::WorkAheadFixture {
  std::unique_ptr<Overlapped> overlapped = std::make_unique<Overlapped>(
      Options(), *LocalSteps::Create({.optimizer = optim::SgdOptions{}}, trainer.layout()));
  sync::Assignment assignment{.samples = 4, .pacing = sync::Pacing::kOverlapped};

  ~Fixture() {
    EndWorld();
    overlapped.reset();
  }

  void Release(uint64_t version) {
    overlapped->Release({.version = Version(version),
                         .assignment = assignment,
                         .lease = Lease(),
                         .learning_rate = 1});
  }
  void Continue(uint64_t samples = 4) { overlapped->Continue({assignment, Lease(samples), 1}); }
  void Pass(double seconds) {
    world.Change([&] { world.now += Seconds(seconds); });
  }
  // The computing thread has nothing to do, knows why, and looks at the clock again only then.
  bool AwaitIdle() {
    int looks = 0;
    world.Change([&] { looks = world.looks_at_clock; });
    overlapped->Offer(Version(0));  // Old news: wakes it, no more.
    return world.Await([&] { return world.looks_at_clock > looks; });
  }
  bool AwaitCalls(size_t calls) {
    return world.Await([&] { return world.calls.size() >= calls; });
  }
  // Lets it make one step and push it, which makes so many pushes all told.
  bool StepAndPush(size_t pushes) {
    world.LetStep(1);
    world.LetPush(1);
    return AwaitSent<protocol::PushDone>(pushes);
  }
  // The first push is held up: two more steps are made meanwhile.
  void MakeThreeStepsInTwoPushes() {
    Release(0);
    Continue();
    Continue();
    world.LetStep(3);
    ASSERT_TRUE(world.Await([&] { return world.steps_ == 0; }));
    world.LetPush(2);
    ASSERT_TRUE(AwaitSent<protocol::PushDone>(2));
  }
};

TEST(Overlapped, ComputesWhileItPushesAndPutsSeveralStepsIntoOnePush) {
  Fixture f;
  f.MakeThreeStepsInTwoPushes();
  EXPECT_THAT(f.world.calls, ElementsAre("pull v0", "push #1 1", "push #2 2"));
  const auto pushes = f.Sent<protocol::PushDone>();
  EXPECT_EQ(pushes[0].steps, 1u);
  EXPECT_EQ(pushes[1].steps, 2u);
  EXPECT_EQ(pushes[1].samples, 8u);
  EXPECT_THAT(pushes[1].leases, ElementsAre(protocol::LeaseId(2), protocol::LeaseId(3)));
}

TEST(Overlapped, TellsOfTheHostAndOfInjectedSleepWithEachPush) {
  Fixture f;
  f.world.injected = Seconds(0.5);
  f.MakeThreeStepsInTwoPushes();
  const auto pushes = f.Sent<protocol::PushDone>();
  EXPECT_EQ(pushes[0].signals.memory_available, 1);
  EXPECT_EQ(pushes[1].signals.memory_available, 2);
  EXPECT_EQ(pushes[0].timing.injected, Seconds(0.5));
  EXPECT_EQ(pushes[1].timing.injected, Seconds(1));  // Two steps.
}

TEST(Overlapped, TransfersBesideComputingCostNoTime) {
  Fixture f;
  f.Release(0);
  f.Continue();
  f.world.LetStep(1);
  // The first push travels for three seconds of the second step's five.
  ASSERT_TRUE(f.world.AwaitAt(f.world.pushes_));
  ASSERT_TRUE(f.world.AwaitAt(f.world.steps_));
  f.Pass(3);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(1));
  f.Pass(2);
  ASSERT_TRUE(f.StepAndPush(2));
  const auto pushes = f.Sent<protocol::PushDone>();
  EXPECT_EQ(pushes[0].shard_time, Seconds(3));
  EXPECT_EQ(pushes[0].timing.overlapped, Duration{});
  EXPECT_EQ(pushes[1].timing.compute, Seconds(5));
  EXPECT_EQ(pushes[1].timing.communication, Duration{});
  EXPECT_EQ(pushes[1].timing.wait, Duration{});
  EXPECT_EQ(pushes[1].timing.overlapped, Seconds(3));
}

// Ten seconds of pushing: four beside a step, and then there is no lease to go on with. Then two of
// pulling, with nothing to do, and one with nothing to do at all.
TEST(Overlapped, WhatItStandsStillForIsNotOverlapped) {
  Fixture f;
  f.Release(0);
  f.Continue();
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.AwaitAt(f.world.pushes_));
  ASSERT_TRUE(f.world.AwaitAt(f.world.steps_));
  f.Pass(4);
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 2; }));
  ASSERT_TRUE(f.AwaitIdle());
  f.Pass(6);
  f.world.LetPush(2);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  f.world.HoldPulls();
  f.overlapped->Offer(Version(1));
  ASSERT_TRUE(f.world.AwaitAt(f.world.pulls_));
  ASSERT_TRUE(f.AwaitIdle());
  f.Pass(2);
  int uses = 0;
  f.world.Change([&] { uses = f.world.uses_of_parameters; });
  f.world.LetPull(1);
  // It takes the version over, and from then on waits.
  ASSERT_TRUE(f.world.Await([&] { return f.world.uses_of_parameters > uses; }));
  ASSERT_TRUE(f.AwaitIdle());
  f.Pass(1);
  f.Continue();
  ASSERT_TRUE(f.StepAndPush(3));
  const auto pushes = f.Sent<protocol::PushDone>();
  EXPECT_EQ(pushes[0].shard_time, Seconds(10));
  EXPECT_EQ(pushes[1].timing.compute, Seconds(4));
  EXPECT_EQ(pushes[1].timing.communication, Seconds(6));
  EXPECT_EQ(pushes[1].timing.overlapped, Seconds(4));
  EXPECT_EQ(pushes[2].timing.communication, Seconds(2));
  EXPECT_EQ(pushes[2].timing.wait, Seconds(1));
  EXPECT_EQ(pushes[2].timing.overlapped, Duration{});
}

// A pull that a step's end cuts in two counts with both pushes.
TEST(Overlapped, APullThatLastsLongerThanAStepIsSplit) {
  Fixture f;
  f.Release(0);
  f.Continue();
  ASSERT_TRUE(f.world.AwaitAt(f.world.steps_));
  f.world.HoldPulls();
  f.overlapped->Offer(Version(1));
  ASSERT_TRUE(f.world.AwaitAt(f.world.pulls_));
  f.Pass(2);
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 1; }));
  ASSERT_TRUE(f.world.AwaitAt(f.world.steps_));
  f.Pass(3);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(1));
  ASSERT_TRUE(f.StepAndPush(2));
  const auto pushes = f.Sent<protocol::PushDone>();
  EXPECT_EQ(pushes[0].timing.overlapped, Seconds(2));
  EXPECT_EQ(pushes[1].timing.overlapped, Seconds(3));
}

TEST(Overlapped, PutsUnpushedStepsOnTopOfAVersionThatWasOffered) {
  Fixture f;
  f.world.Change([&] { f.world.versions[1] = 100; });
  f.Release(0);
  f.Continue();
  f.world.LetStep(2);
  ASSERT_TRUE(f.world.Await([&] { return f.world.steps_ == 0; }));
  f.overlapped->Offer(Version(1));
  f.world.LetPush(2);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  const auto pushes = f.Sent<protocol::PushDone>();
  EXPECT_EQ(pushes[0].based_on, Version(0));
  f.Continue();
  ASSERT_TRUE(f.StepAndPush(3));
  EXPECT_EQ(f.Sent<protocol::PushDone>()[2].based_on, Version(1));
  // Whatever came first, each step is in exactly one push.
  EXPECT_THAT(f.world.calls, ::testing::UnorderedElementsAre("pull v0", "push #1 1", "push #2 1",
                                                             "pull v1", "push #3 1"));
}

TEST(Overlapped, WaitsForTheVersionThatItWasReleasedOn) {
  Fixture f;
  f.Release(3);
  ASSERT_TRUE(f.StepAndPush(1));
  f.Release(4);
  ASSERT_TRUE(f.StepAndPush(2));
  EXPECT_EQ(f.Sent<protocol::PushDone>()[1].based_on, Version(4));
  EXPECT_THAT(f.world.calls, ElementsAre("pull v3", "push #1 1", "pull v4", "push #2 1"));
}

TEST(Overlapped, PushesWhatIsNotFiniteThenBeginsAnewOnTheNewestVersion) {
  Fixture f;
  f.world.gradients = {std::numeric_limits<float>::quiet_NaN()};
  f.Release(0);
  f.Continue();
  f.world.LetStep(2);
  f.world.LetPush(2);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_THAT(f.world.calls, ElementsAre("pull v0", "push #1 nan", "pull v0", "push #2 1"));
  EXPECT_FALSE(f.Sent<protocol::PushDone>()[0].gradient.is_finite);
  EXPECT_TRUE(f.Sent<protocol::PushDone>()[1].gradient.is_finite);
}

TEST(Overlapped, HandsBackABatchThatDoesNotFit) {
  Fixture f;
  f.Release(0);
  f.Continue(60);
  f.world.LetStep(2);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::Abandoned>(1));
  const auto abandoned = f.Sent<protocol::Abandoned>();
  EXPECT_EQ(abandoned[0].samples_fit, 54u);
  EXPECT_THAT(abandoned[0].leases, ElementsAre(protocol::LeaseId(2)));
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(1));
  // Numbered one after the other.
  EXPECT_EQ(f.Sent<protocol::PushDone>()[0].sequence.value() + abandoned[0].sequence.value(), 3u);
}

TEST(Overlapped, HandsBackAStepWhoseGradientsOverflow) {
  Fixture f;
  f.Release(0);
  f.Continue(testing::kOverflowing);
  f.Continue();
  f.world.LetStep(3);
  f.world.LetPush(2);
  ASSERT_TRUE(f.AwaitSent<protocol::Abandoned>(1));
  const auto abandoned = f.Sent<protocol::Abandoned>();
  EXPECT_EQ(abandoned[0].reason, sync::AbandonReason::kOverflow);
  EXPECT_EQ(abandoned[0].loss_scale, 512);
  EXPECT_THAT(abandoned[0].leases, ElementsAre(protocol::LeaseId(2)));
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(1));
}

TEST(Overlapped, DrainsOnceTheStepInWorkIsPushed) {
  Fixture f;
  f.Release(0);
  f.Continue();
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.steps_ <= 0; }));
  f.overlapped->Drain({.is_done = true});
  f.world.LetStep(1);
  f.world.LetPush(2);
  ASSERT_TRUE(f.AwaitSent<protocol::Leaving>(1));
  EXPECT_TRUE(std::get<protocol::Leaving>(f.world.sent.back()).is_done);
  EXPECT_GE(f.Sent<protocol::PushDone>().size(), 1u);
}

TEST(Overlapped, ClosesTheSessionWhenItCannotGoOn) {
  Fixture f;
  f.world.push_status = FailedPrecondition("life of the worker is over: w2 i1");
  f.Release(0);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.is_closed; }));
  EXPECT_EQ(f.overlapped->status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(f.Sent<protocol::PushDone>(), SizeIs(0));
}

}  // namespace
}  // namespace paceline::worker
