// What is claimed about WBSP (Yang et al., Parallel Computing 121, 2024; the authors' code
// Dora233/WBSP), one test a claim, and the closed forms that follow from its rule, on the
// simulator's clock.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "tests/papers/played.h"

namespace paceline::papers {
namespace {

using simulator::ClusterOptions;
using ::testing::DoubleNear;
using ::testing::Each;

constexpr uint32_t kWorkers = 8;
constexpr size_t kSkipped = 100;  // Rounds, until a life has settled.
constexpr size_t kRounds = 400;

sync::PolicySpec Spec(bool is_overlapped, sync::LatePush late_push = sync::LatePush::kFold) {
  sync::PolicySpec spec{.scheme = sync::Scheme::kWbsp};
  spec.wbsp.is_overlapped = is_overlapped;
  spec.wbsp.late_push = late_push;
  return spec;
}

// Workers whose steps take `fast`, the last ones those times; and how long a push and a pull take.
ClusterOptions Workers(const sync::PolicySpec& spec, double fast, const std::vector<double>& slow,
                       double upload = 0, double pull = 0) {
  ClusterOptions options{.policy = spec};
  options.policy.global_batch_size = 10 * kWorkers;
  options.workers.assign(kWorkers, StepOf(fast));
  for (size_t i = 0; i < slow.size(); ++i) options.workers[kWorkers - 1 - i] = StepOf(slow[i]);
  options.network = {.worker_bytes_per_second = 1, .bytes = pull, .push_bytes = upload};
  options.learning_rate = 1e-3;
  options.steps_max = kRounds;
  return options;
}

std::vector<Round> Ran(const ClusterOptions& options) {
  std::vector<Round> rounds = RoundsOf(Play(options));
  if (options.steps_max > 0) {
    EXPECT_EQ(rounds.size(), options.steps_max);
  }
  return rounds;
}

// Abstract: nobody waits; the global model moves on when the slowest has uploaded.
TEST(WbspPaper, ARoundLastsAsLongAsTheSlowestsStep) {
  const std::vector<Round> rounds = Ran(Workers(Spec(false), 1, {3}));
  EXPECT_NEAR(MeanRound(rounds, kSkipped), 3, 1e-9);
  EXPECT_NEAR(MeanSteps(rounds, WorkerId(7), kSkipped), 1, 1e-9);
  for (uint64_t w = 0; w < 7; ++w) EXPECT_NEAR(MeanSteps(rounds, WorkerId(w), kSkipped), 3, 0.02);
}

// The four rounds without communication: all equal; one slower by half; half of them; half of them
// three times slower. A late push counts, or every worker owes a second, fresh one, and is the more
// in time for the next round the later it comes: so no two come at the same moment here.
TEST(WbspPaper, RoundsWhereLatePushesCountAndWhereTheyDoNot) {
  struct Case {
    std::vector<double> slow;
    double counted, not_counted;
  };
  for (const Case& c : std::vector<Case>{{{}, 1.00, 1.88},
                                         {{1.5}, 1.50, 2.25},
                                         {{1.5, 1.5, 1.5, 1.5}, 1.50, 2.67},
                                         {{3, 3, 3, 3}, 3.00, 5.25}}) {
    for (const auto late : {sync::LatePush::kFold, sync::LatePush::kDrop}) {
      ClusterOptions options = Workers(Spec(false, late), 1, c.slow);
      for (size_t i = 0; i < kWorkers; ++i)
        options.workers[i].fixed_seconds += 1e-5 * static_cast<double>(i);
      const double expected = late == sync::LatePush::kFold ? c.counted : c.not_counted;
      EXPECT_NEAR(MeanRound(Ran(options), kSkipped), expected, 0.01);
    }
  }
}

// The same rounds with a designated slowest, who is elected and not configured.
TEST(WbspPaper, ADesignatedSlowestMakesTheSameRounds) {
  sync::PolicySpec spec = Spec(false);
  spec.wbsp.trigger = sync::RoundTrigger::kDesignated;
  EXPECT_NEAR(MeanRound(Ran(Workers(spec, 1, {1.5})), kSkipped), 1.5, 0.005);
  EXPECT_NEAR(MeanRound(Ran(Workers(spec, 1, {3, 3, 3, 3})), kSkipped), 3, 0.005);
}

// R = C + U + P of the slowest, basic; mean steps (R - P) / (C + U).
TEST(WbspPaper, BasicRoundsAndStepsWithCommunication) {
  for (const auto& [slow, steps] : {std::pair{2.0, 1.909}, std::pair{4.7, 4.364}}) {
    const std::vector<Round> rounds = Ran(Workers(Spec(false), 1, {slow}, 0.1, 0.1));
    const double round = slow + 0.2;
    EXPECT_NEAR(MeanRound(rounds, kSkipped), round, 1e-6);
    EXPECT_NEAR((round - 0.1) / 1.1, steps, 0.0005);
    EXPECT_NEAR(MeanSteps(rounds, WorkerId(0), kSkipped), steps, 0.005);
  }
}

// R = max(C, U + P) of the slowest, overlapped; mean steps R / C.
TEST(WbspPaper, OverlapHidesCommunicationBehindComputation) {
  const std::vector<Round> hidden = Ran(Workers(Spec(true), 1, {3}, 0.4, 0.4));
  EXPECT_NEAR(MeanRound(hidden, kSkipped), 3, 1e-6);
  EXPECT_NEAR(MeanSteps(hidden, WorkerId(0), kSkipped), 3, 0.02);
  // Transfers longer than a step are seen. A push waits for the border of a step, so that a round
  // may last up to half a transfer longer than max(C, U + P); basic, it would be 2.5.
  const std::vector<Round> shown = Ran(Workers(Spec(true), 1, {}, 0.75, 0.75));
  EXPECT_GE(MeanRound(shown, kSkipped), 1.5 - 1e-9);
  EXPECT_LE(MeanRound(shown, kSkipped), 1.5 + 0.75 / 2);
}

// Samples of a round: B x sum of steps, against B x n of a barrier.
TEST(WbspPaper, ARoundHoldsMoreSamplesThanABarriersStep) {
  const std::vector<Round> rounds = Ran(Workers(Spec(false), 1, {3, 3, 3, 3}));
  double steps = 0;
  for (uint64_t w = 0; w < kWorkers; ++w) steps += MeanSteps(rounds, WorkerId(w), kSkipped);
  EXPECT_NEAR(steps, 4 * 3 + 4 * 1, 0.05);
}

// (14): each local step of the round counts with 1/n, whoever made it.
TEST(WbspPaper, EachPushWeighsOneNth) {
  for (const Round& round : Ran(Workers(Spec(false), 1, {3})))
    EXPECT_THAT(round.weights, Each(DoubleNear(1.0 / kWorkers, 1e-12)));
}

// FedNova (Wang et al., NeurIPS 2020): mean(tau) x mean(delta_i / tau_i). Equal steps make equal
// shares of mean(tau) / n, however many steps a worker makes, and the sum is as large as it was.
TEST(WbspPaper, NormalisedWorkersCountAlike) {
  for (const bool is_overlapped : {false, true}) {
    sync::PolicySpec spec = Spec(is_overlapped);
    spec.wbsp.is_normalised = true;
    const std::vector<Round> rounds = Ran(Workers(spec, 1, {3, 3}));
    const double mean_steps = (6 * 3 + 2 * 1) / 8.0;
    for (uint64_t w = 0; w < kWorkers; ++w) {
      double share = 0;
      for (size_t i = kSkipped; i < rounds.size(); ++i) {
        const auto found = rounds[i].shares.find(WorkerId(w));
        if (found != rounds[i].shares.end()) share += found->second;
      }
      EXPECT_NEAR(share / (kRounds - kSkipped), mean_steps / kWorkers, 0.01) << w;
    }
  }
}

// One of equal workers becomes four times slower: in the rounds after the first one the share of
// each of the others is 4 steps by their mean steps, 2.6, 2.88, ... The sum of all weights is
// right.
TEST(WbspPaper, NormalisedWeightsFollowAPaceAsTheMeanOfStepsDoes) {
  sync::PolicySpec spec = Spec(false);
  spec.wbsp.is_normalised = true;
  ClusterOptions options = Workers(spec, 1, {});
  options.workers[7].changes = {{kSkipped - 0.5, 4}};
  options.steps_max = kSkipped + 30;
  const std::vector<Round> rounds = Ran(options);
  size_t first = kSkipped;
  while (first < rounds.size() && rounds[first].seconds < 2) ++first;
  ASSERT_LT(first + 20, rounds.size());
  EXPECT_LT(rounds[first].shares.at(WorkerId(7)), 0.4 * rounds[first].shares.at(WorkerId(0)));
  for (size_t r = 1; r < 20; ++r) {
    const Round& round = rounds[first + r];
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
    const auto rounds = [extra](bool is_overlapped) {
      ClusterOptions options = Workers(Spec(is_overlapped), 0.5, {}, 0.05, 0.05);
      for (uint64_t w = 1; w < kWorkers; w += 2) options.workers[w] = StepOf(0.5 + extra);
      return Ran(options);
    };
    const std::vector<Round> overlapped = rounds(true), basic = rounds(false);
    for (uint64_t w = 0; w < kWorkers; ++w) {
      const double compute = 0.5 + (w % 2 == 1 ? extra : 0);
      const auto share = [&](const std::vector<Round>& of) {
        return MeanSteps(of, WorkerId(w), kSkipped) * compute / MeanRound(of, kSkipped);
      };
      EXPECT_GT(share(overlapped), 0.91);
      EXPECT_LT(share(basic), share(overlapped));
      if (w % 2 == 0) {
        EXPECT_LT(compute / (0.5 + extra + 0.1), 0.46);  // A barrier's.
      }
    }
  }
}

// Guards: beyond the cap a fast worker gets nothing to do until the round ends.
TEST(WbspPaper, TheCapBoundsLocalSteps) {
  for (const bool is_overlapped : {false, true}) {
    sync::PolicySpec spec = Spec(is_overlapped);
    spec.wbsp.local_steps_max = 4;
    const std::vector<Round> rounds = Ran(Workers(spec, 1, {50}));
    EXPECT_NEAR(MeanRound(rounds, kSkipped), 50, 1e-6);
    for (const Round& round : rounds) {
      for (const auto& [worker, steps] : round.steps) EXPECT_LE(steps, 4u);
    }
  }
}

// Guards: after round_timeout_factor x the mean round, a round ends without who is missing.
TEST(WbspPaper, ARoundEndsWithoutASilentWorker) {
  ClusterOptions options = Workers(Spec(false), 1, {});
  options.absences = {{.worker = 3, .from_seconds = 50.5, .until_seconds = {}, .is_silent = true}};
  options.silent_seconds = 1e6;
  options.steps_max = 60;
  const std::vector<Round> rounds = Ran(options);
  ASSERT_EQ(rounds.size(), 60u);
  const auto late =
      std::max_element(rounds.begin(), rounds.end(),
                       [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  EXPECT_NEAR(late->seconds, 5, 0.01);
  EXPECT_NEAR(rounds.back().seconds, 1, 1e-9);  // Nobody waits for it again.
}

// Edge cases: the slowest is lost; with a designated one, another is elected.
TEST(WbspPaper, TheLossOfTheSlowestEndsTheRound) {
  for (const auto trigger : {sync::RoundTrigger::kAllPushed, sync::RoundTrigger::kDesignated}) {
    sync::PolicySpec spec = Spec(false);
    spec.wbsp.trigger = trigger;
    ClusterOptions options = Workers(spec, 1, {3});
    options.absences = {{.worker = 7, .from_seconds = 150.25, .until_seconds = {}}};
    options.steps_max = 0;
    options.seconds_max = 150;
    const size_t before = Ran(options).size();
    options.seconds_max = 170.75;
    const std::vector<Round> rounds = Ran(options);
    EXPECT_NEAR(static_cast<double>(rounds.size() - before), 20, 2);
    EXPECT_THAT(rounds.back().weights, Each(DoubleNear(1.0 / 7, 1e-12)));
  }
}

// Edge cases: who joins works at once, and is waited for from the next round on.
TEST(WbspPaper, AJoinCountsFromTheNextRound) {
  ClusterOptions options = Workers(Spec(false), 1, {});
  options.workers.push_back(StepOf(2));
  options.absences = {{.worker = 8, .from_seconds = 0, .until_seconds = 50.25}};
  options.steps_max = 80;
  const std::vector<Round> rounds = Ran(options);
  ASSERT_EQ(rounds.size(), 80u);
  EXPECT_NEAR(rounds[50].seconds, 1, 1e-9);
  EXPECT_NEAR(rounds[79].seconds, 2, 1e-9);
  EXPECT_THAT(rounds[79].weights, Each(DoubleNear(1.0 / 9, 1e-12)));
}

// Where transfers take longer than a step, a push carries several.
TEST(WbspPaper, SlowTransfersCoalesce) {
  const std::vector<Round> rounds = Ran(Workers(Spec(true), 1, {6}, 2, 0.5));
  EXPECT_NEAR(MeanRound(rounds, kSkipped), 6, 0.2);
  EXPECT_NEAR(MeanSteps(rounds, WorkerId(0), kSkipped), 6, 0.5);
  double pushes = 0, steps = 0;
  for (const Round& round : rounds) {
    pushes += static_cast<double>(round.weights.size());
    for (const auto& [worker, made] : round.steps) steps += made;
  }
  EXPECT_GT(steps, 1.5 * pushes);
}

}  // namespace
}  // namespace paceline::papers
