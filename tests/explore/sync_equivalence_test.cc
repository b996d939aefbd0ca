// Runs two policies side by side over every order in which pushes, and where said a loss and a
// join, can arrive, and compares what they decide.
//
// Same decisions: equal lists, as text. Same release schedule: after each event the same workers go
// on; versions, weights and scales may differ.

#include <set>

#include <gmock/gmock.h>

#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/trace/trace.h"

namespace paceline::sync {
namespace {

constexpr uint32_t kWorkers = 3;

// One of the two, with the pushes that its releases led to.
class Side {
 public:
  explicit Side(const PolicySpec& spec) : policy_(*MakePolicy(spec)) {}
  Side(const Side& other)
      : policy_(other.policy_->Clone()), based_on_(other.based_on_), sequences_(other.sequences_) {}

  void Observe(const Event& event) {
    decisions_.clear();
    released_.clear();
    policy_->Observe(event, Time{}, decisions_);
    for (const Decision& decision : decisions_) {
      const auto* release = std::get_if<Release>(&decision);
      if (release == nullptr) continue;
      released_.insert(release->worker);
      based_on_[release->worker] = release->version;
    }
  }

  void Push(WorkerId worker) {
    Observe(PushArrived{.worker = worker,
                        .sequence = Sequence(++sequences_[worker]),
                        .based_on = based_on_[worker],
                        .samples = 2});
  }

  std::string Decisions() const {
    std::string text;
    for (const Decision& decision : decisions_) text += FormatDecision(decision) + "\n";
    return text;
  }
  const std::set<WorkerId>& released() const { return released_; }

 private:
  std::unique_ptr<Policy> policy_;
  std::vector<Decision> decisions_;
  std::set<WorkerId> released_;
  std::map<WorkerId, Version> based_on_;
  std::map<WorkerId, uint64_t> sequences_;
};

enum class Sameness { kDecisions, kReleaseSchedule };

struct Run {
  uint32_t steps_each = 3;
  bool has_loss = false;  // Of any worker, at any moment.
  bool has_join = false;  // Of a fourth worker, at any moment.
};

class Pair {
 public:
  Pair(const PolicySpec& a, const PolicySpec& b, Sameness sameness, const Run& run)
      : a_(a), b_(b), sameness_(sameness), run_(run) {}

  // Counts the orders gone through.
  size_t GoEveryWay() {
    for (uint32_t i = 0; i < kWorkers; ++i) {
      steps_left_[WorkerId(i)] = run_.steps_each;
      Tell(WorkerJoined{WorkerId(i)});
    }
    return Visit();
  }

 private:
  size_t Visit() {
    size_t ways = 0;
    for (const WorkerId worker : std::set<WorkerId>(computing_)) {
      if (steps_left_[worker] == 0) continue;
      Pair next(*this);
      next.Push(worker);
      ways += next.Continue();
    }
    if (run_.has_loss) {
      for (const auto& [worker, left] : steps_left_) {
        Pair next(*this);
        next.run_.has_loss = false;
        next.computing_.erase(worker);
        next.steps_left_.erase(worker);
        next.Tell(WorkerLeft{.worker = worker});
        ways += next.Continue();
      }
    }
    if (run_.has_join) {
      Pair next(*this);
      next.run_.has_join = false;
      next.steps_left_[WorkerId(kWorkers)] = run_.steps_each;
      next.Tell(WorkerJoined{WorkerId(kWorkers)});
      ways += next.Continue();
    }
    return ways == 0 ? 1 : ways;
  }

  // Stops where the two have parted: one message says it all.
  size_t Continue() { return ::testing::Test::HasFailure() ? 1 : Visit(); }

  void Push(WorkerId worker) {
    computing_.erase(worker);
    --steps_left_[worker];
    way_ += fmt::format("push {}; ", worker);
    a_.Push(worker);
    b_.Push(worker);
    Compare();
  }

  void Tell(const Event& event) {
    way_ += FormatEvent(event) + "; ";
    a_.Observe(event);
    b_.Observe(event);
    Compare();
  }

  void Compare() {
    if (sameness_ == Sameness::kDecisions) {
      EXPECT_EQ(a_.Decisions(), b_.Decisions()) << way_;
    }
    EXPECT_EQ(a_.released(), b_.released()) << way_;
    computing_.insert(a_.released().begin(), a_.released().end());
  }

  Side a_;
  Side b_;
  Sameness sameness_;
  Run run_;
  std::map<WorkerId, uint32_t> steps_left_;
  std::set<WorkerId> computing_;
  std::string way_;
};

PolicySpec Spec(Scheme scheme) {
  PolicySpec spec{.scheme = scheme};
  spec.global_batch_size = 2 * kWorkers;
  spec.workers_expected = kWorkers;
  return spec;
}

PolicySpec SspSpec(std::optional<uint64_t> staleness) {
  PolicySpec spec = Spec(Scheme::kSsp);
  spec.staleness = staleness;
  return spec;
}

PolicySpec BackupSpec(uint32_t backup_workers) {
  PolicySpec spec = Spec(Scheme::kBackupWorkers);
  spec.backup_workers = backup_workers;
  return spec;
}

size_t Compare(const PolicySpec& a, const PolicySpec& b, Sameness sameness, const Run& run) {
  return Pair(a, b, sameness, run).GoEveryWay();
}

TEST(Equivalence, BackupWorkersWithNoneDecidesAsBspEvenWithALossAndAJoin) {
  EXPECT_GT(Compare(BackupSpec(0), Spec(Scheme::kBsp), Sameness::kDecisions,
                    {.steps_each = 2, .has_loss = true, .has_join = true}),
            36u);
}

// 6^3 orders: each step's three pushes in any order. A join is left out: BSP lets it in at the
// next commit, SSP at once. So is a loss: what a lost worker pushed counts in BSP's open step.
TEST(Equivalence, SspWithStalenessZeroReleasesAsBsp) {
  EXPECT_EQ(Compare(SspSpec(0), Spec(Scheme::kBsp), Sameness::kReleaseSchedule, {}), 216u);
}

TEST(Equivalence, SspWithStalenessUnboundedDecidesAsAspEvenWithALossOrAJoin) {
  EXPECT_GT(Compare(SspSpec(std::nullopt), Spec(Scheme::kAsp), Sameness::kDecisions,
                    {.steps_each = 2, .has_loss = true}),
            90u);
  EXPECT_GT(Compare(SspSpec(std::nullopt), Spec(Scheme::kAsp), Sameness::kDecisions,
                    {.steps_each = 2, .has_join = true}),
            90u);
}

// 9! / (3! 3! 3!) orders.
TEST(Equivalence, SspWithAWindowWiderThanTheRunDecidesAsAsp) {
  EXPECT_EQ(Compare(SspSpec(3), Spec(Scheme::kAsp), Sameness::kDecisions, {.steps_each = 3}),
            1680u);
}

TEST(Equivalence, DeterministicBspReleasesAsBspInOrderOfArrivalDoes) {
  PolicySpec deterministic = Spec(Scheme::kBsp);
  deterministic.is_deterministic = true;
  EXPECT_EQ(Compare(deterministic, Spec(Scheme::kBsp), Sameness::kReleaseSchedule, {}), 216u);
}

TEST(Equivalence, TheComparisonSeesSchemesThatDiffer) {
  const auto differs = [](const PolicySpec& a, const PolicySpec& b) {
    Side first(a), second(b);
    for (uint32_t i = 0; i < kWorkers; ++i) {
      first.Observe(WorkerJoined{WorkerId(i)});
      second.Observe(WorkerJoined{WorkerId(i)});
    }
    first.Push(WorkerId(0));
    second.Push(WorkerId(0));
    first.Push(WorkerId(1));
    second.Push(WorkerId(1));
    return first.released() != second.released();
  };
  EXPECT_TRUE(differs(BackupSpec(1), Spec(Scheme::kBsp)));
  EXPECT_TRUE(differs(SspSpec(1), SspSpec(0)));
  EXPECT_FALSE(differs(SspSpec(0), Spec(Scheme::kBsp)));
}

}  // namespace
}  // namespace paceline::sync
