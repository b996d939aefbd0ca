#include "lib/worker/loop/loop.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/worker/loop/loop_testing.h"

namespace paceline::worker {
namespace {

using namespace loop_testing;  // NOLINT: its fakes are this test's language.

TEST(Loop, JoinsFillsStepsAndPushes) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, protocol::Fill{}, Release(0, 7), Release(1, 8),
                       protocol::Finish{"done"}}};
  const StatusOr<std::string> end = f.loop.Run();
  ASSERT_TRUE(end.ok()) << Message(end.status());
  EXPECT_EQ(*end, "done");
  EXPECT_EQ(f.world.calls, (std::vector<std::string>{"fill w2 i1 16", "pull v0", "push w2 i1 #1 16",
                                                     "pull v1", "push w2 i1 #2 16"}));
  ASSERT_EQ(Sent<protocol::Join>(f.world).size(), 1u);
  EXPECT_EQ(Sent<protocol::Join>(f.world)[0].train_samples, 100u);
  const auto pushes = Sent<protocol::PushDone>(f.world);
  ASSERT_EQ(pushes.size(), 2u);
  EXPECT_EQ(pushes[1].sequence, Sequence(2));
  EXPECT_EQ(pushes[1].based_on, Version(1));
  EXPECT_EQ(pushes[1].samples, 10u);
  EXPECT_EQ(pushes[1].leases, std::vector<protocol::LeaseId>{protocol::LeaseId(8)});
  EXPECT_DOUBLE_EQ(pushes[1].gradient.squared_norm, 2.5);
  EXPECT_GT(pushes[1].timing.compute, Duration::zero());
  EXPECT_GT(pushes[1].timing.wait, Duration::zero());
  EXPECT_GT(pushes[1].timing.communication, Duration::zero());
  EXPECT_EQ(pushes[0].timing.injected, Duration(10));
  EXPECT_EQ(pushes[1].timing.injected, Duration(10));
}

TEST(Loop, PushesInPiecesWhereItCan) {
  Fixture f;
  f.world.takes_pieces = true;
  f.world.sessions = {
      {Admit(1), protocol::Shards{}, Release(0, 7), Release(1, 8), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls,
            (std::vector<std::string>{"pull v0", "begin w2 i1 #1", "put 8+8", "put 0+8",
                                      "seal w2 i1 #1", "pull v1", "begin w2 i1 #2", "put 8+8",
                                      "put 0+8", "seal w2 i1 #2"}));
  const auto pushes = Sent<protocol::PushDone>(f.world);
  ASSERT_EQ(pushes.size(), 2u);
  EXPECT_EQ(pushes[1].sequence, Sequence(2));
  EXPECT_EQ(pushes[1].based_on, Version(1));
  EXPECT_DOUBLE_EQ(pushes[1].gradient.squared_norm, 3.5);
  EXPECT_EQ(pushes[1].traffic.pushed_bytes, 16u);
}

TEST(Loop, PushesAsAWholeWhatTheTrainerDoesNotHandOver) {
  Fixture f;
  f.world.takes_pieces = true;
  f.world.hands_pieces = false;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 7), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls, (std::vector<std::string>{"pull v0", "begin w2 i1 #1", "drop w2 i1 #1",
                                                     "push w2 i1 #1 16"}));
}

// The sequence of what was begun is spent.
TEST(Loop, WhatWasBegunForAStepThatIsGivenUpIsNeverSealed) {
  Fixture f;
  f.world.takes_pieces = true;
  f.world.step_statuses = {ResourceExhausted("out of memory")};
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 7, 32), Release(0, 8, 16),
                       protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  ASSERT_EQ(Sent<protocol::Abandoned>(f.world).size(), 1u);
  EXPECT_EQ(Sent<protocol::Abandoned>(f.world)[0].sequence, Sequence(1));
  EXPECT_EQ(f.world.calls,
            (std::vector<std::string>{"pull v0", "begin w2 i1 #1", "drop w2 i1 #1", "pull v0",
                                      "begin w2 i1 #2", "put 8+8", "put 0+8", "seal w2 i1 #2"}));
}

TEST(Loop, NamesTheTensorOfAPieceThatIsNotFinite) {
  Fixture f;
  f.world.takes_pieces = true;
  f.world.non_finite_at = 4;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 7), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  ASSERT_EQ(Sent<protocol::PushDone>(f.world).size(), 1u);
  EXPECT_FALSE(Sent<protocol::PushDone>(f.world)[0].gradient.is_finite);
  EXPECT_EQ(Sent<protocol::PushDone>(f.world)[0].non_finite_tensor, "weight");
}

TEST(Loop, JoinsAnewWhenASealIsLost) {
  Fixture f;
  f.world.takes_pieces = true;
  f.world.seal_status = Unavailable("shard s0: the other end is gone");
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 7)},
                      {Admit(2), protocol::Shards{}, Release(0, 8), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls.back(), "seal w2 i2 #1");
  EXPECT_EQ(Sent<protocol::PushDone>(f.world).size(), 1u);
}

TEST(Loop, LocalStepsArePushedAsAWhole) {
  Fixture f;
  f.world.takes_pieces = true;
  protocol::Released release = Release(0, 7);
  release.assignment.pacing = sync::Pacing::kKeepGoing;
  f.world.sessions = {{Admit(1), protocol::Shards{}, release, protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls, (std::vector<std::string>{"pull v0", "push w2 i1 #1 16"}));
}

TEST(Loop, TakesTheNewestAnnouncedVersionWhenItsOwnIsSuperseded) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, protocol::Offered{Version(9)}, Release(3, 1),
                       protocol::Finish{"done"}}};
  f.world.pull_reports = {{.is_superseded = true, .newest = Version(10)}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls[0], "pull v3");
  EXPECT_EQ(f.world.calls[1], "pull v9");
  EXPECT_EQ(Sent<protocol::PushDone>(f.world)[0].based_on, Version(9));
}

TEST(Loop, SaysWhichVersionItGotOfAtLeast) {
  Fixture f;
  protocol::Released release = Release(3, 1);
  release.exactness = sync::Exactness::kAtLeast;
  f.world.sessions = {{Admit(1), protocol::Shards{}, release, protocol::Finish{"done"}}};
  f.world.pull_reports = {{.oldest = Version(4), .newest = Version(5)}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls[0], "pull v3 or later");
  EXPECT_EQ(Sent<protocol::PushDone>(f.world)[0].based_on, Version(4));
}

TEST(Loop, HandsBackABatchThatDoesNotFit) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 5, 32), Release(0, 6, 16),
                       protocol::Finish{"done"}}};
  f.world.step_statuses = {ResourceExhausted("out of memory")};
  ASSERT_TRUE(f.loop.Run().ok());
  const auto abandoned = Sent<protocol::Abandoned>(f.world);
  ASSERT_EQ(abandoned.size(), 1u);
  EXPECT_EQ(abandoned[0].samples_fit, 28u);
  EXPECT_EQ(abandoned[0].leases[0], protocol::LeaseId(5));
  EXPECT_EQ(Sent<protocol::PushDone>(f.world)[0].sequence, Sequence(2));
}

// The time of a step that came to nothing is not the next one's.
TEST(Loop, ASecondTryIsTimedForItself) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 5, 32), Release(0, 6, 16),
                       protocol::Finish{"done"}}};
  f.world.step_statuses = {ResourceExhausted("out of memory")};
  f.world.during_step = [&f] {
    if (!f.world.step_statuses.empty()) f.now += Seconds(1000).count();
  };
  ASSERT_TRUE(f.loop.Run().ok());
  const auto pushes = Sent<protocol::PushDone>(f.world);
  ASSERT_EQ(pushes.size(), 1u);
  EXPECT_LT(pushes[0].timing.compute, Seconds(1000));
}

TEST(Loop, SendsWhatTheHostIsLikeWithEachPushWhateverThePacing) {
  for (const sync::Pacing pacing : {sync::Pacing::kWait, sync::Pacing::kKeepGoing,
                                    sync::Pacing::kOverlapped, sync::Pacing::kEagerPull}) {
    Fixture f;
    protocol::Released release = Release(0, 1);
    release.assignment.pacing = pacing;
    f.world.sessions = {{Admit(1), protocol::Shards{}, release}};
    f.world.after_push = {protocol::Finish{"done"}};
    ASSERT_TRUE(f.loop.Run().ok());
    const auto pushes = Sent<protocol::PushDone>(f.world);
    ASSERT_EQ(pushes.size(), 1u) << int(pacing);
    EXPECT_EQ(pushes[0].signals.cpu_available, 0.5) << int(pacing);
    EXPECT_EQ(pushes[0].signals.memory_available, std::nullopt) << int(pacing);
  }
}

TEST(Loop, EndsWithWordsWhenAStepCannotWork) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 5)}};
  f.world.step_statuses = {
      WithDetail(OutOfRange("position is beyond the data: 9"), kCauseDetail, "reading")};
  const Status status = f.loop.Run().status();
  EXPECT_EQ(Message(status), "step failed: position is beyond the data: 9");
  ASSERT_EQ(Sent<protocol::Failing>(f.world).size(), 1u);
  EXPECT_EQ(Sent<protocol::Failing>(f.world)[0].reason, "position is beyond the data: 9");
  EXPECT_EQ(Sent<protocol::Failing>(f.world)[0].cause, "reading");
}

TEST(Loop, GivesUpWhenRefused) {
  Fixture f;
  f.world.sessions = {{protocol::Refused{protocol::RefuseReason::kLayoutDiffers,
                                         "tensor weight has shape [3], want [4]"}}};
  const Status status = f.loop.Run().status();
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Message(status), "refused: layout-differs: tensor weight has shape [3], want [4]");
}

protocol::Released ReleaseToKeepGoing(uint64_t version, uint64_t lease) {
  protocol::Released release = Release(version, lease);
  release.assignment.pacing = sync::Pacing::kKeepGoing;
  release.learning_rate = 0.5;
  return release;
}

protocol::Continued Continue(const protocol::Released& release) {
  return {release.assignment, release.lease, release.learning_rate};
}

TEST(Loop, PushesWhatItsLocalStepsChange) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, ReleaseToKeepGoing(3, 1),
                       Continue(ReleaseToKeepGoing(0, 2)), ReleaseToKeepGoing(4, 3),
                       protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls,
            (std::vector<std::string>{"pull v3", "push w2 i1 #1 16", "push w2 i1 #2 16", "pull v4",
                                      "push w2 i1 #3 16"}));
  // 0.5 x 2, then with momentum 0.5, which a new version leaves alone.
  EXPECT_EQ(f.world.pushed, (std::vector<float>{1, 1.5, 1.75}));
  const auto pushes = Sent<protocol::PushDone>(f.world);
  ASSERT_EQ(pushes.size(), 3u);
  EXPECT_EQ(pushes[1].based_on, Version(3));
  EXPECT_EQ(pushes[2].based_on, Version(4));
}

TEST(Loop, GoesBackToGradientsAndBeginsLocalStepsAnew) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, ReleaseToKeepGoing(3, 1), Release(4, 2),
                       ReleaseToKeepGoing(5, 3), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.pushed, (std::vector<float>{1, -2, 1}));
}

TEST(Loop, MakesOverlappedStepsUntilItIsReleasedToAnotherPacing) {
  Fixture f;
  protocol::Released release = ReleaseToKeepGoing(3, 1);
  release.assignment.pacing = sync::Pacing::kOverlapped;
  f.world.sessions = {{Admit(1), protocol::Shards{}, release}};
  f.world.after_push = {Release(4, 2), protocol::Finish{"done"}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls, (std::vector<std::string>{"pull v3", "push w2 i1 #1 16", "pull v4",
                                                     "push w2 i1 #2 16"}));
  EXPECT_EQ(f.world.pushed, (std::vector<float>{1, -2}));
}

TEST(Loop, GivesAStepUpWhenItIsInterrupted) {
  Fixture f;
  f.world.sessions = {
      {Admit(1), protocol::Shards{}, Release(0, 5), Release(1, 6), protocol::Finish{"done"}}};
  int steps = 0;
  f.world.during_step = [&] {
    if (++steps == 1) f.world.interrupt(Sequence(1));
  };
  ASSERT_TRUE(f.loop.Run().ok());
  const auto abandoned = Sent<protocol::Abandoned>(f.world);
  ASSERT_EQ(abandoned.size(), 1u);
  EXPECT_EQ(abandoned[0].reason, sync::AbandonReason::kInterrupted);
  EXPECT_EQ(abandoned[0].leases[0], protocol::LeaseId(5));
  const auto pushes = Sent<protocol::PushDone>(f.world);
  ASSERT_EQ(pushes.size(), 1u);
  EXPECT_EQ(pushes[0].sequence, Sequence(2));
  EXPECT_EQ(pushes[0].based_on, Version(1));
}

// It overtakes what the worker has not received, and is not forgotten by then.
TEST(Loop, GivesAStepUpThatIsInterruptedBeforeItBegins) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 5),
                       protocol::Interrupted{Sequence(1)}, Release(1, 6),
                       protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(Sent<protocol::Abandoned>(f.world).size(), 1u);
  EXPECT_EQ(Sent<protocol::PushDone>(f.world).size(), 1u);
}

TEST(Loop, GivesAStepUpThatIsInterruptedInASleep) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 5), protocol::Finish{"done"}}};
  f.world.step_sleep = Seconds(3600);
  std::thread coordinator;
  f.world.during_step = [&] { coordinator = std::thread([&] { f.world.interrupt(Sequence(1)); }); };
  ASSERT_TRUE(f.loop.Run().ok());
  coordinator.join();
  const auto abandoned = Sent<protocol::Abandoned>(f.world);
  ASSERT_EQ(abandoned.size(), 1u);
  EXPECT_EQ(abandoned[0].leases[0], protocol::LeaseId(5));
}

// One that is late, and one of a number that no step has yet.
TEST(Loop, GoesOnWhenAnotherStepIsInterrupted) {
  for (const uint64_t other : {1, 3}) {
    Fixture f;
    f.world.sessions = {
        {Admit(1), protocol::Shards{}, Release(0, 5), Release(1, 6), protocol::Finish{"done"}}};
    int steps = 0;
    f.world.during_step = [&] {
      if (++steps == 2) f.world.interrupt(Sequence(other));
    };
    ASSERT_TRUE(f.loop.Run().ok());
    EXPECT_TRUE(Sent<protocol::Abandoned>(f.world).empty()) << other;
    EXPECT_EQ(Sent<protocol::PushDone>(f.world).size(), 2u) << other;
  }
}

// The push is told: it is late, and none is abandoned for it.
TEST(Loop, AnInterruptThatComesAfterThePushEndsNothing) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 5)}};
  f.world.after_push = {protocol::Offered{Version(1)}, protocol::Interrupted{Sequence(1)},
                        Release(1, 6), protocol::Finish{"done"}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_TRUE(Sent<protocol::Abandoned>(f.world).empty());
  const auto pushes = Sent<protocol::PushDone>(f.world);
  ASSERT_EQ(pushes.size(), 2u);
  EXPECT_EQ(pushes[1].sequence, Sequence(2));
}

// Its sequences begin at 1 again, and what was said of the old ones says nothing of them.
TEST(Loop, AnInterruptOfAnEarlierSessionIsForgotten) {
  Fixture f;
  f.world.sessions = {
      {Admit(1), protocol::Shards{}, Release(0, 1), protocol::Interrupted{Sequence(1)}},
      {Admit(2), protocol::Shards{}, Release(1, 2), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(Sent<protocol::Abandoned>(f.world).size(), 1u);
  EXPECT_EQ(Sent<protocol::PushDone>(f.world).size(), 1u);
}

TEST(Loop, SleepsNoMoreOnceItDrains) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 5)}};
  f.world.step_sleep = Seconds(3600);
  std::thread signals;
  f.world.during_step = [&] { signals = std::thread([&] { f.loop.Drain(); }); };
  ASSERT_TRUE(f.loop.Run().ok());
  signals.join();
  EXPECT_EQ(Sent<protocol::PushDone>(f.world).size(), 1u);  // The step counts.
  EXPECT_EQ(Sent<protocol::Leaving>(f.world).size(), 1u);
}

TEST(Loop, JoinsAnewAfterALostSessionAndCountsItsPushesFromOne) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 1)},
                      {Admit(2), protocol::Shards{}, Release(1, 2), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls.back(), "push w2 i2 #1 16");
}

TEST(Loop, JoinsAnewWhenAPushIsFenced) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 1), Release(1, 2)},
                      {Admit(2), protocol::Shards{}, protocol::Finish{"done"}}};
  f.world.push_statuses = {FailedPrecondition("life of the worker is over: w2 i1")};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_TRUE(Sent<protocol::PushDone>(f.world).empty());
  EXPECT_EQ(Sent<protocol::Join>(f.world).size(), 2u);
}

// Its coordinator has heard nothing of it for too long, while it was filling in the values.
TEST(Loop, JoinsAnewWhenAFillIsFenced) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, protocol::Fill{}, Release(0, 1)},
                      {Admit(2), protocol::Shards{}, protocol::Finish{"done"}}};
  f.world.fill_status = FailedPrecondition("life of the worker is over: w2 i1");
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls, std::vector<std::string>{"fill w2 i1 16"});
  EXPECT_EQ(Sent<protocol::Join>(f.world).size(), 2u);
}

// No other session would end otherwise.
TEST(Loop, GivesUpWhereItMayNotSpeakForTheWorker) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 1)},
                      {Admit(2), protocol::Shards{}, protocol::Finish{"done"}}};
  f.world.push_statuses = {PermissionDenied("certificate names another process: worker-3")};
  EXPECT_EQ(f.loop.Run().status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Sent<protocol::Join>(f.world).size(), 1u);
}

TEST(Loop, GivesUpWhenNobodyComesBackInTime) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 1)}, {Admit(2)}, {Admit(3)}};
  const Status status = f.loop.Run().status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(Message(status),
            "gave up after 100 s without work: coordinator cannot be reached: connection refused");
  EXPECT_EQ(Sent<protocol::Join>(f.world).size(), 3u);
}

// Its coordinator answers, and says nothing for longer than it may.
TEST(Loop, GivesUpWhenNobodySaysAnythingInTime) {
  Fixture f;
  f.world.session_end = DeadlineExceeded("nothing received");
  f.world.sessions.assign(1000, {Admit(1), protocol::Shards{}});
  const Status status = f.loop.Run().status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(Message(status), "gave up after 100 s without work: no order for 900 s");
  EXPECT_EQ(f.world.longest_wait, Seconds(900));
}

// Many short sessions are no reason to give up, as long as there is work between them.
TEST(Loop, OutlivesAnyNumberOfRestarts) {
  Fixture f;
  for (uint64_t life = 1; life <= 300; ++life)
    f.world.sessions.push_back({Admit(life), protocol::Shards{}, Release(life, life)});
  f.world.sessions.push_back({Admit(301), protocol::Finish{"done"}});
  const StatusOr<std::string> end = f.loop.Run();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(Sent<protocol::PushDone>(f.world).size(), 300u);
}

TEST(Loop, FillsTheInitialValuesWhenTheJobBeginsAnew) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, protocol::Fill{}, Release(0, 1)},
                      {Admit(2), protocol::Shards{}, protocol::Fill{}, protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls, (std::vector<std::string>{"fill w2 i1 16", "pull v0", "push w2 i1 #1 16",
                                                     "begin anew", "fill w2 i2 16"}));
}

TEST(Loop, DrainsWhileItWaitsForTheCoordinatorToComeBack) {
  Fixture f;
  f.step = Duration::zero();
  std::thread drainer([&f] { f.loop.Drain(); });
  const StatusOr<std::string> end = f.loop.Run();
  drainer.join();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(*end, "drained");
}

TEST(Loop, DrainsAfterThePushInWork) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 1)}};
  f.world.during_step = [&f] { f.loop.Drain({.is_done = true}); };
  const StatusOr<std::string> end = f.loop.Run();
  ASSERT_TRUE(end.ok()) << Message(end.status());
  ASSERT_GE(f.world.sent.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<protocol::PushDone>(f.world.sent[1]));
  EXPECT_TRUE(std::get<protocol::Leaving>(f.world.sent[2]).is_done);
}

TEST(Loop, EvaluatesAVersion) {
  Fixture f;
  f.world.sessions = {
      {Admit(1), protocol::Shards{}, protocol::Evaluate{Version(6)}, protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  const auto evaluated = Sent<protocol::Evaluated>(f.world);
  ASSERT_EQ(evaluated.size(), 1u);
  EXPECT_EQ(evaluated[0].version, Version(6));
  EXPECT_EQ(evaluated[0].accuracy, 0.75);
}

// Another version's result would be taken for that of the one that was asked for.
TEST(Loop, DoesNotEvaluateAnotherVersionInstead) {
  Fixture f;
  f.world.sessions = {
      {Admit(1), protocol::Shards{}, protocol::Evaluate{Version(6)}},
      {Admit(2), protocol::Shards{}, protocol::Evaluate{Version(10)}, protocol::Finish{"done"}}};
  f.world.pull_reports = {{.is_superseded = true, .newest = Version(10)}};
  ASSERT_TRUE(f.loop.Run().ok());
  const auto evaluated = Sent<protocol::Evaluated>(f.world);
  ASSERT_EQ(evaluated.size(), 1u);
  EXPECT_EQ(evaluated[0].version, Version(10));
}

TEST(Stopwatch, SplitsTimeByActivity) {
  Time now{};
  Stopwatch stopwatch([&] { return now; });
  now += Seconds(1);
  stopwatch.Switch(Activity::kCompute);
  now += Seconds(2);
  stopwatch.Injected(Seconds(0.5));
  stopwatch.Injected(Seconds(0.25));
  stopwatch.Paused(Seconds(0.125));
  stopwatch.Switch(Activity::kCommunication);
  now += Seconds(3);
  const sync::Timing timing = stopwatch.Take();
  EXPECT_EQ(timing.wait, Seconds(1));
  EXPECT_EQ(timing.compute, Seconds(1.875)) << "without the pause";
  EXPECT_EQ(timing.communication, Seconds(3));
  EXPECT_EQ(timing.injected, Seconds(0.75));
  const sync::Timing next = stopwatch.Take();
  EXPECT_EQ(next.communication, Duration::zero());
  EXPECT_EQ(next.injected, Duration::zero());
}

}  // namespace
}  // namespace paceline::worker
