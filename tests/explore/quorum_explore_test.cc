// Walks every way through small worlds in which a quorum asks for every sequence of numbers of
// pushes, with each way of treating late workers: whatever a controller chooses, the engine keeps
// its contract and commits every sample.

#include <gmock/gmock.h>

#include "lib/sync/schemes/batching/equal.h"
#include "lib/sync/schemes/dbw/dbw.h"
#include "lib/sync/schemes/engine/engine.h"
#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/schemes/presets.h"
#include "tests/explore/walk.h"

namespace paceline::sync::explore {
namespace {

constexpr uint32_t kWorkers = 3;

// Asks for its numbers in turn, over and over; gives silent workers up after a second.
class InTurn : public Quorum {
 public:
  explicit InTurn(std::vector<uint32_t> numbers) : numbers_(std::move(numbers)) {}

  void Observe(const StepFact& fact, Time now) override {
    if (std::holds_alternative<StepBegan>(fact)) deadline_ = now + Seconds(1);
    if (std::holds_alternative<StepClosed>(fact)) turn_ = (turn_ + 1) % numbers_.size();
    if (std::holds_alternative<StepClosed>(fact) || std::holds_alternative<SilentGivenUp>(fact))
      deadline_.reset();
  }
  uint32_t PushesWanted(uint32_t) const override { return numbers_[turn_]; }
  std::optional<Time> Deadline() const override { return deadline_; }
  std::string DebugString() const override {
    return fmt::format("turn {}{}", turn_, deadline_ ? " watching" : "");
  }
  std::unique_ptr<Quorum> Clone() const override { return std::make_unique<InTurn>(*this); }

 private:
  std::vector<uint32_t> numbers_;
  size_t turn_ = 0;
  std::optional<Time> deadline_;
};

std::optional<std::string> NothingStale(const SmallWorld& world) {
  for (const auto& [based_on, newest] : world.accumulated_on()) {
    if (based_on != newest) return fmt::format("push on {} is used at {}", based_on, newest);
  }
  return std::nullopt;
}

std::unique_ptr<Policy> With(std::unique_ptr<Quorum> quorum, LateWorker late_worker) {
  return std::make_unique<Engine>(PolicySpec{.parts = {.late_worker = late_worker},
                                             .global_batch_size = kWorkers,
                                             .workers_expected = kWorkers},
                                  std::move(quorum), std::make_unique<EqualSizer>(kWorkers));
}

PolicySpec Spec() {
  PolicySpec spec{.scheme = Scheme::kDbw};
  spec.global_batch_size = spec.workers_expected = kWorkers;
  return spec;
}

std::string Told(const Finding& finding) {
  std::string text = finding.problem + "\n  after:";
  for (const std::string& choice : finding.way) text += " " + choice + ";";
  return text;
}

class EveryQuorum : public ::testing::TestWithParam<LateWorker> {
 protected:
  // Of `length` numbers, over and over.
  void ExpectCleanWithEverySequence(size_t length, const WorldOptions& options) {
    std::vector<uint32_t> numbers(length, 1);
    while (true) {
      const WalkResult result =
          Walk(options, With(std::make_unique<InTurn>(numbers), GetParam()), NothingStale);
      ASSERT_FALSE(result.finding)
          << fmt::format("{}: ", fmt::join(numbers, " ")) << Told(*result.finding);
      EXPECT_GT(result.ends, 0u);
      size_t i = 0;
      while (i < length && numbers[i] == kWorkers) numbers[i++] = 1;
      if (i == length) return;
      ++numbers[i];
    }
  }
};

TEST_P(EveryQuorum, WithOneCrashAndOneJoin) {
  ExpectCleanWithEverySequence(3, {.spec = Spec(), .samples_total = 6, .crashes = 1, .joins = 1});
}

TEST_P(EveryQuorum, WithSilenceAndOneCrash) {
  ExpectCleanWithEverySequence(2,
                               {.spec = Spec(), .samples_total = 6, .crashes = 1, .deadlines = 2});
}

TEST_P(EveryQuorum, WithPushesNotFiniteAndSilence) {
  ExpectCleanWithEverySequence(
      2, {.spec = Spec(), .samples_total = 6, .non_finite = 2, .deadlines = 1});
}

TEST_P(EveryQuorum, WithQuiesceAtAnyMomentAndOneCrash) {
  ExpectCleanWithEverySequence(2,
                               {.spec = Spec(), .samples_total = 6, .crashes = 1, .quiesces = 1});
}

// The controllers themselves, on a clock that moves, so that their choices matter.
TEST_P(EveryQuorum, OfTheControllersOnAMovingClock) {
  for (const DbwMethod method : {DbwMethod::kGain, DbwMethod::kBlind, DbwMethod::kAdaSync,
                                 DbwMethod::kNoiseScale, DbwMethod::kStar}) {
    PolicySpec spec = Spec();
    spec.dbw.method = method;
    spec.dbw.late_worker = GetParam();
    spec.dbw.warmup_steps = 1;
    // No two ways meet again on a clock, so the worlds are smaller.
    const Duration per_choice = Seconds(0.25);
    for (const WorldOptions& options :
         {WorldOptions{.spec = spec, .samples_total = 6, .per_choice = per_choice},
          WorldOptions{.spec = spec, .samples_total = 4, .crashes = 1, .per_choice = per_choice},
          WorldOptions{
              .spec = spec, .samples_total = 4, .deadlines = 1, .per_choice = per_choice}}) {
      const WalkResult result = Walk(options, *MakePolicy(spec), NothingStale);
      ASSERT_FALSE(result.finding) << ToString(method) << ": " << Told(*result.finding);
      EXPECT_GT(result.ends, 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(LateWorkers, EveryQuorum,
                         ::testing::Values(LateWorker::kOffer, LateWorker::kLeave,
                                           LateWorker::kInterrupt),
                         [](const auto& info) { return std::string(ToString(info.param)); });

// The same where late pushes count and workers go on meanwhile: what is left of the rule is that
// nothing counts beyond the reach, and that every sample does.
class EveryQuorumComposed : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryQuorumComposed, OfEverySequenceOfTwo) {
  PolicySpec spec = *ParsePolicySpec(GetParam());
  spec.global_batch_size = spec.workers_expected;
  const std::optional<uint64_t> reach = CoordinatesOf(spec).reach;
  const Rule within = [reach](const SmallWorld& world) -> std::optional<std::string> {
    for (const auto& [based_on, newest] : world.accumulated_on()) {
      if (reach && based_on.value() + *reach < newest.value())
        return fmt::format("push on {} is used at {}", based_on, newest);
    }
    return std::nullopt;
  };
  for (const WorldOptions& options :
       {WorldOptions{.spec = spec, .samples_total = 5, .crashes = 1, .joins = 1},
        WorldOptions{.spec = spec, .samples_total = 5, .non_finite = 1, .deadlines = 1},
        WorldOptions{.spec = spec, .samples_total = 4, .abandons = 1, .quiesces = 1}}) {
    for (uint32_t first = 1; first <= spec.workers_expected; ++first) {
      for (uint32_t second = first; second <= spec.workers_expected; ++second) {
        auto policy =
            std::make_unique<Engine>(spec, std::make_unique<InTurn>(std::vector{first, second}),
                                     std::make_unique<EqualSizer>(spec.global_batch_size));
        const WalkResult result = Walk(options, std::move(policy), within);
        ASSERT_FALSE(result.finding) << first << " " << second << ": " << Told(*result.finding);
        EXPECT_GT(result.ends, 0u);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Compositions, EveryQuorumComposed,
    ::testing::Values("DBW workers=3 reach=1", "DBW workers=3 late=weigh",
                      "DBW dbw-method=star workers=3 late=weigh modulate=none scale=per-worker",
                      "DBW workers=3 meanwhile=go-on", "DBW workers=2 meanwhile=go-on late=weigh",
                      "DBW dbw-method=blind workers=2 meanwhile=eager-pull",
                      "DBW dbw-method=blind workers=2 meanwhile=eager-pull late=weigh",
                      "DBW dbw-method=blind workers=2 meanwhile=local-steps local-steps=2",
                      "DBW dbw-method=blind workers=3 meanwhile=local-steps local-steps=2 basic"));

}  // namespace
}  // namespace paceline::sync::explore
