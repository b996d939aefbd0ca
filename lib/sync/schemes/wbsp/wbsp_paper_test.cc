// What is claimed about WBSP (Yang et al., Parallel Computing 121, 2024; the authors' code
// Dora233/WBSP), one test a claim, and the closed forms that follow from its rule, on a virtual
// clock.
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "lib/sync/testing/wbsp_timed_world.h"

namespace paceline::sync {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using testing::Pace;
using testing::TimedWorld;

constexpr uint32_t kWorkers = 8;
constexpr size_t kSkipped = 100;  // Rounds, until a run has settled.
constexpr size_t kRounds = 400;

PolicySpec Spec(bool is_overlapped, LatePush late_push = LatePush::kFold) {
  PolicySpec spec{.scheme = Scheme::kWbsp};
  spec.global_batch_size = kWorkers;
  spec.wbsp.is_overlapped = is_overlapped;
  spec.wbsp.late_push = late_push;
  return spec;
}

std::vector<Pace> Paces(double fast, const std::vector<double>& slow, double upload = 0,
                        double pull = 0) {
  std::vector<Pace> paces(kWorkers, Pace{fast, upload, pull});
  for (size_t i = 0; i < slow.size(); ++i) paces[kWorkers - 1 - i].compute = slow[i];
  return paces;
}

TimedWorld Ran(const PolicySpec& spec, const std::vector<Pace>& paces) {
  TimedWorld world(spec, paces);
  world.Run(kRounds);
  return world;
}

// Abstract: nobody waits; the global model moves on when the slowest has uploaded.
TEST(WbspPaper, ARoundLastsAsLongAsTheSlowestsStep) {
  const TimedWorld world = Ran(Spec(false), Paces(1, {3}));
  EXPECT_NEAR(world.MeanRound(kSkipped), 3, 1e-9);
  EXPECT_NEAR(world.MeanSteps(WorkerId(7), kSkipped), 1, 1e-9);
  for (uint64_t w = 0; w < 7; ++w) EXPECT_NEAR(world.MeanSteps(WorkerId(w), kSkipped), 3, 0.02);
}

// The four rounds without communication: all equal; one slower by half; half of them; half of them
// three times slower. A late push counts, or every worker owes a second, fresh one.
TEST(WbspPaper, RoundsWhereLatePushesCountAndWhereTheyDoNot) {
  struct Case {
    std::vector<double> slow;
    double counted, not_counted;
  };
  for (const Case& c : std::vector<Case>{{{}, 1.00, 1.88},
                                         {{1.5}, 1.50, 2.00},
                                         {{1.5, 1.5, 1.5, 1.5}, 1.50, 2.67},
                                         {{3, 3, 3, 3}, 3.00, 5.25}}) {
    EXPECT_NEAR(Ran(Spec(false), Paces(1, c.slow)).MeanRound(kSkipped), c.counted, 0.005);
    EXPECT_NEAR(Ran(Spec(false, LatePush::kDrop), Paces(1, c.slow)).MeanRound(kSkipped),
                c.not_counted, 0.01);
  }
}

// The same rounds with a designated slowest, who is elected and not configured.
TEST(WbspPaper, ADesignatedSlowestMakesTheSameRounds) {
  PolicySpec spec = Spec(false);
  spec.wbsp.trigger = RoundTrigger::kDesignated;
  EXPECT_NEAR(Ran(spec, Paces(1, {1.5})).MeanRound(kSkipped), 1.5, 0.005);
  EXPECT_NEAR(Ran(spec, Paces(1, {3, 3, 3, 3})).MeanRound(kSkipped), 3, 0.005);
}

// R = C + U + P of the slowest, basic; mean steps (R - P) / (C + U).
TEST(WbspPaper, BasicRoundsAndStepsWithCommunication) {
  for (const auto& [slow, steps] : {std::pair{2.0, 1.909}, std::pair{4.7, 4.364}}) {
    const TimedWorld world = Ran(Spec(false), Paces(1, {slow}, 0.1, 0.1));
    const double round = slow + 0.2;
    EXPECT_NEAR(world.MeanRound(kSkipped), round, 1e-6);
    EXPECT_NEAR((round - 0.1) / 1.1, steps, 0.0005);
    EXPECT_NEAR(world.MeanSteps(WorkerId(0), kSkipped), steps, 0.005);
  }
}

// R = max(C, U + P) of the slowest, overlapped; mean steps R / C.
TEST(WbspPaper, OverlapHidesCommunicationBehindComputation) {
  const TimedWorld hidden = Ran(Spec(true), Paces(1, {3}, 0.4, 0.4));
  EXPECT_NEAR(hidden.MeanRound(kSkipped), 3, 1e-6);
  EXPECT_NEAR(hidden.MeanSteps(WorkerId(0), kSkipped), 3, 0.02);
  // Transfers longer than a step are seen. A push waits for the border of a step, so that a round
  // may last up to half a transfer longer than max(C, U + P); basic, it would be 2.5.
  const TimedWorld shown = Ran(Spec(true), Paces(1, {}, 0.75, 0.75));
  EXPECT_GE(shown.MeanRound(kSkipped), 1.5 - 1e-9);
  EXPECT_LE(shown.MeanRound(kSkipped), 1.5 + 0.75 / 2);
}

// Samples of a round: B x sum of steps, against B x n of a barrier.
TEST(WbspPaper, ARoundHoldsMoreSamplesThanABarriersStep) {
  const TimedWorld world = Ran(Spec(false), Paces(1, {3, 3, 3, 3}));
  double steps = 0;
  for (uint64_t w = 0; w < kWorkers; ++w) steps += world.MeanSteps(WorkerId(w), kSkipped);
  EXPECT_NEAR(steps, 4 * 3 + 4 * 1, 0.05);
}

// (14): each local step of the round counts with 1/n, whoever made it.
TEST(WbspPaper, EachPushWeighsOneNth) {
  const TimedWorld world = Ran(Spec(false), Paces(1, {3}));
  for (const TimedWorld::Round& round : world.rounds())
    EXPECT_THAT(round.weights, Each(DoubleNear(1.0 / kWorkers, 1e-12)));
}

// FedNova (Wang et al., NeurIPS 2020): mean(tau) x mean(delta_i / tau_i). Equal steps make equal
// shares of mean(tau) / n, however many steps a worker makes, and the sum is as large as it was.
TEST(WbspPaper, NormalisedWorkersCountAlike) {
  for (const bool is_overlapped : {false, true}) {
    PolicySpec spec = Spec(is_overlapped);
    spec.wbsp.is_normalised = true;
    const TimedWorld world = Ran(spec, Paces(1, {3, 3}));
    const double mean_steps = (6 * 3 + 2 * 1) / 8.0;
    for (uint64_t w = 0; w < kWorkers; ++w) {
      double share = 0;
      for (size_t i = kSkipped; i < kRounds; ++i) {
        const auto& shares = world.rounds()[i].shares;
        if (const auto found = shares.find(WorkerId(w)); found != shares.end())
          share += found->second;
      }
      EXPECT_NEAR(share / (kRounds - kSkipped), mean_steps / kWorkers, 0.01) << w;
    }
  }
}

// One of equal workers becomes four times slower: in the rounds after the first one the share of
// each of the others is 4 steps by their mean steps, 2.6, 2.88, ... The sum of all weights is
// right.
TEST(WbspPaper, NormalisedWeightsFollowAPaceAsTheMeanOfStepsDoes) {
  PolicySpec spec = Spec(false);
  spec.wbsp.is_normalised = true;
  TimedWorld world(spec, Paces(1, {}));
  world.Run(kSkipped);
  world.SetPace(WorkerId(7), {4});
  world.Run(kSkipped + 30);
  size_t first = kSkipped;
  while (world.rounds()[first].seconds < 2) ++first;
  EXPECT_LT(world.rounds()[first].shares.at(WorkerId(7)),
            0.4 * world.rounds()[first].shares.at(WorkerId(0)));
  for (size_t r = 1; r < 20; ++r) {
    const TimedWorld::Round& round = world.rounds()[first + r];
    EXPECT_NEAR(round.shares.at(WorkerId(7)) / round.shares.at(WorkerId(0)),
                1 - 0.65 * std::pow(0.8, r - 1), 0.001)
        << r;
    EXPECT_NEAR(std::accumulate(round.weights.begin(), round.weights.end(), 0.0), 29 / 8.0, 0.4)
        << r;
  }
}

// H1 to H3 of the authors' experiment: every second worker is slower by 0.5, 1 or 1.5 s. The share
// of time spent computing, with a step of 0.5 s and transfers of 0.05 s: 91 % and more with
// overlap, while a barrier's is C / R.
TEST(WbspPaper, ComputesNearlyAllTheTime) {
  for (const double extra : {0.5, 1.0, 1.5}) {
    std::vector<Pace> paces;
    for (uint64_t w = 0; w < kWorkers; ++w)
      paces.push_back({0.5 + (w % 2 == 1 ? extra : 0), 0.05, 0.05});
    const TimedWorld overlapped = Ran(Spec(true), paces);
    const TimedWorld basic = Ran(Spec(false), paces);
    for (uint64_t w = 0; w < kWorkers; ++w) {
      const double compute = paces[w].compute;
      const double share =
          overlapped.MeanSteps(WorkerId(w), kSkipped) * compute / overlapped.MeanRound(kSkipped);
      EXPECT_GT(share, 0.91);
      EXPECT_LT(basic.MeanSteps(WorkerId(w), kSkipped) * compute / basic.MeanRound(kSkipped),
                share);
      if (w % 2 == 0) {
        EXPECT_LT(compute / (0.5 + extra + 0.1), 0.46);  // A barrier's.
      }
    }
  }
}

// Guards: beyond the cap a fast worker gets nothing to do until the round ends.
TEST(WbspPaper, TheCapBoundsLocalSteps) {
  for (const bool is_overlapped : {false, true}) {
    PolicySpec spec = Spec(is_overlapped);
    spec.wbsp.local_steps_max = 4;
    const TimedWorld world = Ran(spec, Paces(1, {50}));
    EXPECT_NEAR(world.MeanRound(kSkipped), 50, 1e-6);
    for (const TimedWorld::Round& round : world.rounds()) {
      for (const auto& [worker, steps] : round.steps) EXPECT_LE(steps, 4u);
    }
  }
}

// Guards: after round_timeout_factor x the mean round, a round ends without who is missing.
TEST(WbspPaper, ARoundEndsWithoutASilentWorker) {
  TimedWorld world(Spec(false), Paces(1, {}));
  world.Run(50);
  world.Silence(WorkerId(3));
  world.Run(60);
  const std::vector<TimedWorld::Round>& rounds = world.rounds();
  ASSERT_EQ(rounds.size(), 60u);
  const auto late =
      std::max_element(rounds.begin(), rounds.end(),
                       [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  EXPECT_NEAR(late->seconds, 5, 0.01);
  EXPECT_NEAR(rounds.back().seconds, 1, 1e-9);  // Nobody waits for it again.
}

// Edge cases: the slowest is lost; with a designated one, another is elected.
TEST(WbspPaper, TheLossOfTheSlowestEndsTheRound) {
  for (const RoundTrigger trigger : {RoundTrigger::kAllPushed, RoundTrigger::kDesignated}) {
    PolicySpec spec = Spec(false);
    spec.wbsp.trigger = trigger;
    TimedWorld world(spec, Paces(1, {3}));
    world.Run(50);
    world.Leave(WorkerId(7));
    const size_t before = world.rounds().size();
    world.RunFor(20.5);
    EXPECT_NEAR(static_cast<double>(world.rounds().size() - before), 20, 2);
    EXPECT_THAT(world.rounds().back().weights, Each(DoubleNear(1.0 / 7, 1e-12)));
  }
}

// Edge cases: who joins works at once, and is waited for from the next round on.
TEST(WbspPaper, AJoinCountsFromTheNextRound) {
  TimedWorld world(Spec(false), Paces(1, {}));
  world.Run(50);
  world.Join(WorkerId(8), {2});
  world.Run(51);
  EXPECT_NEAR(world.rounds()[50].seconds, 1, 1e-9);
  world.Run(80);
  EXPECT_NEAR(world.rounds()[79].seconds, 2, 1e-9);
  EXPECT_THAT(world.rounds()[79].weights, Each(DoubleNear(1.0 / 9, 1e-12)));
}

// Where transfers take longer than a step, a push carries several.
TEST(WbspPaper, SlowTransfersCoalesce) {
  const TimedWorld world = Ran(Spec(true), Paces(1, {6}, 2, 0.5));
  EXPECT_NEAR(world.MeanRound(kSkipped), 6, 0.2);
  EXPECT_NEAR(world.MeanSteps(WorkerId(0), kSkipped), 6, 0.5);
  double pushes = 0, steps = 0;
  for (const TimedWorld::Round& round : world.rounds()) {
    pushes += static_cast<double>(round.weights.size());
    for (const auto& [worker, made] : round.steps) steps += made;
  }
  EXPECT_GT(steps, 1.5 * pushes);
}

}  // namespace
}  // namespace paceline::sync
