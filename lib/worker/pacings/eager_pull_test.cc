#include "lib/worker/pacings/eager_pull.h"

#include <limits>
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/worker/pacings/work_ahead_testing.h"

namespace paceline::worker {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::SizeIs;

struct Fixture : testing::WorkAheadFixture {
  std::unique_ptr<EagerPull> eager;
  uint32_t depth = 1;

  explicit Fixture(optim::SgdOptions sgd = {}) {
    world.HoldPulls();
    eager = std::make_unique<EagerPull>(Options(),
                                        *LocalSteps::Create({.optimizer = sgd}, trainer.layout()));
  }
  ~Fixture() {
    EndWorld();
    eager.reset();
  }

  void Release(uint64_t version, uint64_t includes, double scale = 1, bool has_samples = true) {
    protocol::Released released{.version = Version(version), .learning_rate = 1};
    released.exactness = sync::Exactness::kAtLeast;
    released.assignment = {
        .samples = 4, .learning_rate_scale = scale, .pacing = eager->pacing(), .depth = depth};
    if (includes > 0) released.includes = Sequence(includes);
    if (has_samples) released.lease = Lease();
    eager->Release(released);
  }
  void Continue(uint64_t samples = 4) {
    eager->Continue({{.samples = 4, .pacing = eager->pacing(), .depth = depth}, Lease(samples), 1});
  }
  // In their order; pulls travel beside them.
  std::vector<std::string> Pushes() {
    std::vector<std::string> pushes;
    world.Change([&] {
      for (const std::string& call : world.calls)
        if (call.starts_with("push")) pushes.push_back(call);
    });
    return pushes;
  }
  // A worker that has made its first step, pushed it and is about to make its second.
  void Begin() {
    Release(0, 0);
    Continue();
    world.LetPull(1);
    world.LetStep(1);
    world.LetPush(1);
    ASSERT_TRUE(AwaitSent<protocol::PushDone>(1));
  }
};

TEST(EagerPull, TellsOfTheHostAndOfInjectedSleepWithEachPush) {
  Fixture f;
  f.world.injected = Seconds(0.5);
  f.Begin();
  f.Release(5, 1);
  f.world.LetPull(1);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  const auto pushes = f.Sent<protocol::PushDone>();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(pushes[i].signals.memory_available, static_cast<double>(i + 1));
    EXPECT_EQ(pushes[i].timing.injected, Seconds(0.5));
  }
}

TEST(EagerPull, ComputesAndPushesTheNextStepWhileTheAnswerIsPulled) {
  Fixture f;
  f.Begin();
  // The version holds the first push (a share of it) and what others did.
  f.world.Change([&] { f.world.versions[5] = 100; });
  f.Release(5, 1);
  // The second step ends before the answer is here.
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 2; }));
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  f.world.LetPull(1);
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 3; }));
  // On the version, on its own first step, on the answer with its second step on top.
  EXPECT_THAT(f.world.computed_on, ElementsAre(0, 1, 101));
  EXPECT_THAT(f.world.calls, ElementsAre("pull v0", "push #1 1", "push #2 1", "pull v5"));
  const auto pushes = f.Sent<protocol::PushDone>();
  EXPECT_EQ(pushes[0].based_on, Version(0));
  EXPECT_EQ(pushes[1].based_on, Version(0));
  EXPECT_THAT(pushes[1].leases, ElementsAre(protocol::LeaseId(2)));
}

TEST(EagerPull, WithDepthTwoAStepDoesNotWaitForTheLastAnswer) {
  Fixture f;
  f.depth = 2;
  f.Begin();
  f.world.Change([&] { f.world.versions[5] = 100; });
  f.Release(5, 1);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  // Its third step goes on from two of its own, before either is in a version that is here.
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 3; }));
  f.Release(6, 2);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(3));
  // Three would be too many.
  f.world.LetStep(1);
  f.world.Change([&] { EXPECT_THAT(f.world.computed_on, ElementsAre(0, 1, 2)); });
  f.world.LetPull(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 4; }));
  EXPECT_EQ(f.world.computed_on[3], 102);
  EXPECT_EQ(f.Sent<protocol::PushDone>()[2].based_on, Version(0));
}

// A link that breaks while the bytes of a version travel: what is pulled then is another version.
TEST(EagerPull, APullThatBreaksAfterTheNamingIsMadeAnewOnceEveryPushIsAnswered) {
  Fixture f;
  f.Begin();
  f.world.Change([&] { f.world.pull_failures = 1; });
  f.Release(5, 1);
  f.world.LetStep(1);
  f.world.LetPush(1);
  // The second push is sent meanwhile.
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  f.world.LetPull(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.pull_failures == 0; }));
  f.world.Change([&] { f.world.versions[6] = 100; });
  f.Release(6, 2);
  f.world.LetPull(1);
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 3; }));
  EXPECT_EQ(f.world.computed_on[2], 100);
  EXPECT_THAT(f.world.calls, ElementsAre("pull v0", "push #1 1", "push #2 1", "pull v6"));
}

TEST(EagerPull, GivesUpWhenPullsBreakAgainAndAgain) {
  Fixture f;
  f.world.Change([&] { f.world.pull_failures = 100; });
  f.Release(0, 0);
  f.world.LetPull(100);
  ASSERT_TRUE(f.world.Await([&] { return f.world.is_closed; }));
  EXPECT_EQ(f.eager->status().code(), StatusCode::kUnavailable);
}

TEST(EagerPull, NeverPushesBeforeThePushBeforeWasAnswered) {
  Fixture f;
  f.Begin();
  f.Continue();
  f.world.LetStep(2);
  f.world.LetPush(5);
  f.world.LetPull(5);
  // Only one more step is made, and its push waits.
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 2; }));
  EXPECT_THAT(f.Sent<protocol::PushDone>(), SizeIs(1));
  f.Release(1, 1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_THAT(f.Pushes(), ElementsAre("push #1 1", "push #2 1"));
}

TEST(EagerPull, TheScaleOfTheAnswerShrinksTheStepInFlightAndTheCopyAlike) {
  Fixture f;
  f.Begin();
  f.world.Change([&] { f.world.versions[5] = 100; });
  f.world.LetStep(1);
  f.Release(5, 1, 0.25);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 3; }));
  EXPECT_EQ(f.Pushes().back(), "push #2 0.25");
  EXPECT_EQ(f.world.computed_on[2], 100.25f);
}

// Scaled after momentum: what one push lacks does not leak into the next.
TEST(EagerPull, TheScaleLeavesMomentumAlone) {
  Fixture f({.momentum = 0.5});
  f.Begin();
  f.world.LetStep(1);
  f.Release(1, 1, 0.25);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  f.world.LetStep(1);
  f.Release(2, 2);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(3));
  // Steps of 1, 1.5 and 1.75, whatever was pushed of them.
  EXPECT_THAT(f.Pushes(), ElementsAre("push #1 1", "push #2 0.375", "push #3 1.75"));
}

TEST(EagerPull, AnAnswerWithoutSamplesLetsThePushGo) {
  Fixture f;
  f.Begin();
  f.world.LetStep(1);
  f.Release(5, 1, 1, false);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_EQ(f.Pushes().back(), "push #2 1");
}

TEST(EagerPull, AfterAPauseItBeginsOnWhatItIsReleasedOn) {
  Fixture f;
  f.Begin();
  f.world.LetStep(1);
  f.Release(5, 1, 1, false);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  f.world.Change([&] { f.world.versions[9] = 200; });
  f.Release(9, 2);
  f.world.LetPull(1);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(3));
  EXPECT_EQ(f.world.computed_on[2], 200);
  EXPECT_EQ(f.Sent<protocol::PushDone>()[2].based_on, Version(9));
}

// It was sent before the push arrived, and the shards may have applied that by now.
TEST(EagerPull, DoesNotPullAReleaseThatKnowsNothingOfTheLastPush) {
  Fixture f;
  f.Begin();
  f.Release(4, 0);
  f.Release(5, 1);
  f.world.LetPull(2);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  // Nor has it been asked for by now.
  f.world.Change([&] { EXPECT_THAT(f.world.calls, Not(Contains("pull v4"))); });
}

TEST(EagerPull, ALeaseMayComeBeforeTheFirstVersion) {
  Fixture f;
  f.Continue();
  f.Release(3, 0);
  f.world.LetPull(1);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(1));
  EXPECT_EQ(f.Sent<protocol::PushDone>()[0].based_on, Version(3));
}

TEST(EagerPull, PushesWhatIsNotFiniteAndGoesOnWithoutIt) {
  Fixture f({.momentum = 0.5});
  f.Begin();
  f.world.Change([&] { f.world.gradients = {std::numeric_limits<float>::quiet_NaN()}; });
  f.world.Change([&] { f.world.versions[5] = 100; });
  f.world.LetStep(1);
  f.Release(5, 1);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_FALSE(f.Sent<protocol::PushDone>()[1].gradient.is_finite);
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 3; }));
  f.Release(6, 2);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(3));
  // On the answer alone; momentum begins anew.
  EXPECT_EQ(f.world.computed_on[2], 100);
  EXPECT_EQ(f.Pushes().back(), "push #3 1");
}

TEST(EagerPull, WhoseFirstPushIsNotFiniteWaitsForAVersionBeforeItGoesOn) {
  Fixture f;
  f.world.Change([&] { f.world.gradients = {std::numeric_limits<float>::infinity()}; });
  f.Begin();
  f.world.Change([&] { f.world.versions[5] = 100; });
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 1; }));
  f.Release(5, 1);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_THAT(f.world.computed_on, ElementsAre(0, 100));
}

TEST(EagerPull, HandsBackABatchThatDoesNotFit) {
  Fixture f;
  f.Release(0, 0);
  f.Continue(60);
  f.Continue();
  f.world.LetPull(2);
  f.world.LetStep(3);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::Abandoned>(1));
  EXPECT_EQ(f.Sent<protocol::Abandoned>()[0].samples_fit, 54u);
  EXPECT_THAT(f.Sent<protocol::Abandoned>()[0].leases, ElementsAre(protocol::LeaseId(2)));
  // Its sequence is spent: the next push is the third.
  f.Release(1, 1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_EQ(f.Sent<protocol::PushDone>()[1].sequence, Sequence(3));
}

TEST(EagerPull, DrainsWithoutWaitingForAnAnswer) {
  Fixture f;
  f.Begin();
  ASSERT_TRUE(f.world.Await([&] { return f.world.steps_ <= 0; }));
  f.eager->Drain({.is_done = true});
  f.eager->Drain({});
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::Leaving>(1));
  EXPECT_TRUE(std::get<protocol::Leaving>(f.world.sent.back()).is_done) << "the first time counts";
}

TEST(EagerPull, ClosesTheSessionWhenItCannotGoOn) {
  Fixture f;
  f.world.push_status = FailedPrecondition("life of the worker is over: w2 i1");
  f.Release(0, 0);
  f.world.LetPull(1);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.is_closed; }));
  EXPECT_EQ(f.eager->status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace paceline::worker
