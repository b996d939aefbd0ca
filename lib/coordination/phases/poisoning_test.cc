// Samples that make workers ill, or end them: found without blaming anybody.
#include "lib/coordination/phases/poisoning.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/epoch_order.h"
#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using protocol::Released;
using testing::Job;

constexpr uint64_t kSamples = 64;

CoordinatorOptions Options() {
  CoordinatorOptions options;
  options.workers_wanted = 2;
  options.workers_max = 2;
  options.global_batch_size = 16;
  options.epochs_max = 2;
  options.seed = 3;
  return options;
}

// What stands there in epoch 0.
uint64_t SampleAt(uint64_t position) {
  EpochOrder order(kSamples, Options().seed);
  return order.Epoch(0)[position];
}

// Two workers train until the job finishes. Samples in `poisoned` are ill; or everything is, for
// `sick`, or from version `ill_from` on for all.
struct Play {
  std::set<uint64_t> poisoned;
  std::optional<uint64_t> sick;
  uint64_t ill_from = UINT64_MAX;

  bool IsIll(const Released& released, uint64_t worker) const {
    if (sick == worker || released.version.value() >= ill_from) return true;
    EpochOrder order(kSamples, Options().seed);
    for (const protocol::SampleRange& range : released.lease.ranges) {
      for (uint64_t at = range.begin; at < range.end; ++at)
        if (poisoned.contains(order.Epoch(range.epoch)[at])) return true;
    }
    return false;
  }

  // Until it is over, or nothing more happens.
  void Run(Job& job) const {
    job.samples = kSamples;
    job.Opened({{1, 0}, {2, 1}});
    std::map<uint64_t, int> answered;
    uint64_t version = 0;
    for (int idle = 0; idle < 2; ++idle) {
      for (const uint64_t connection : {1, 2}) {
        if (job.WasClosed(connection)) continue;
        if (job.SentCount<Released>(connection) == answered[connection]) continue;
        ++answered[connection];
        idle = 0;
        protocol::PushDone done = job.Answer(connection);
        done.gradient.is_finite = !IsIll(job.Sent<Released>(connection), connection - 1);
        job.Hear(connection, done);
      }
      while (version < job.AllOrdered<protocol::CommitAll>().size())
        job.CommittedEverywhere(++version);
    }
  }
};

std::vector<uint64_t> Found(const Job& job) {
  std::vector<uint64_t> samples;
  for (const PoisonedSample& one : job.coordinator.status().poisoned) samples.push_back(one.sample);
  return samples;
}

class PoisoningTest : public ::testing::TestWithParam<sync::Scheme> {};

TEST_P(PoisoningTest, FindsASampleThatMakesEverybodyIllAndBlamesNobody) {
  for (const uint64_t poisoned : {SampleAt(0), SampleAt(21), SampleAt(63)}) {
    SCOPED_TRACE(poisoned);
    Job job(Options(), GetParam());
    Play{.poisoned = {poisoned}}.Run(job);
    EXPECT_EQ(Found(job), std::vector<uint64_t>{poisoned});
    EXPECT_FALSE(job.Has<RolledBack>());
    EXPECT_FALSE(job.WasSent<protocol::Expelled>(1) || job.WasSent<protocol::Expelled>(2));
    EXPECT_EQ(job.coordinator.status().phase, Phase::kFinishing);
    ASSERT_EQ(job.coordinator.epochs().size(), 2u);
    for (const auto& epoch : job.coordinator.epochs()) {
      EXPECT_EQ(epoch.discarded, 1u);
      EXPECT_EQ(epoch.committed, kSamples - 1);
    }
  }
}

TEST_P(PoisoningTest, LeavesNothingOutForAWorkerThatIsIll) {
  Job job(Options(), GetParam());
  Play{.sick = 1}.Run(job);
  EXPECT_TRUE(job.WasSent<protocol::Expelled>(2));
  EXPECT_EQ(Found(job), std::vector<uint64_t>{});
  EXPECT_FALSE(job.Has<RolledBack>());
}

TEST_P(PoisoningTest, LeavesNothingOutForAModelThatIsIll) {
  Job job(Options(), GetParam());
  Play{.ill_from = 3}.Run(job);
  EXPECT_TRUE(job.Has<RolledBack>());
  EXPECT_EQ(Found(job), std::vector<uint64_t>{});
}

INSTANTIATE_TEST_SUITE_P(Schemes, PoisoningTest,
                         ::testing::Values(sync::Scheme::kBsp, sync::Scheme::kSsp,
                                           sync::Scheme::kAsp, sync::Scheme::kBackupWorkers));

// By the step that ended its process: of two workers, four processes.
TEST(PoisonedStepsTest, ASampleThatEndsProcessesIsFound) {
  Job job(Options(), sync::Scheme::kAsp);
  job.samples = kSamples;
  job.Opened({{1, 0}, {2, 1}});
  const Play play{.poisoned = {SampleAt(21)}};
  std::map<uint64_t, uint64_t> connections = {{0, 1}, {1, 2}};  // By worker.
  std::map<uint64_t, int> answered;
  uint64_t version = 0, next = 3;
  int deaths = 0;
  for (int idle = 0; idle < 2; ++idle) {
    for (auto& [worker, connection] : connections) {
      if (job.SentCount<Released>(connection) == answered[connection]) continue;
      ++answered[connection];
      idle = 0;
      if (!play.IsIll(job.Sent<Released>(connection), worker)) {
        job.PushFor(connection);
        continue;
      }
      ++deaths;
      job.Step(WorkerGone{ConnectionId(connection)});
      connection = next++;
      job.Join(connection, worker);
    }
    while (version < job.AllOrdered<protocol::CommitAll>().size())
      job.CommittedEverywhere(++version);
  }
  EXPECT_EQ(Found(job), std::vector<uint64_t>{SampleAt(21)});
  EXPECT_EQ(deaths, 3);  // Two for the eight samples of a step, one for the sample.
  EXPECT_EQ(job.coordinator.status().phase, Phase::kFinishing);
  for (const auto& epoch : job.coordinator.epochs()) EXPECT_EQ(epoch.discarded, 1u);
}

const protocol::Failing kBug{"KeyError: 'columns' (train.py, line 7)",
                             "KeyError, train.py, line 7"};

Job TwoTrain(uint64_t samples = kSamples) {
  Job job(Options(), sync::Scheme::kAsp);
  job.samples = samples;
  job.Opened({{1, 0}, {2, 1}});
  return job;
}

bool IsOver(const Job& job) { return job.coordinator.status().phase == Phase::kOver; }

TEST(ScriptsFaultTest, TheSameCauseOnOtherSamplesEndsTheJobInItsOwnWords) {
  for (const uint64_t second : {2, 3}) {  // Another worker, or the next process of the same one.
    SCOPED_TRACE(second);
    Job job = TwoTrain();
    job.Hear(1, kBug);
    EXPECT_FALSE(IsOver(job));
    if (second == 3) job.Join(3, 0);
    job.Hear(second, kBug);
    ASSERT_TRUE(IsOver(job));
    EXPECT_FALSE(job.coordinator.status().is_success);
    EXPECT_THAT(job.coordinator.status().outcome, ::testing::EndsWith(kBug.reason));
    EXPECT_EQ(Found(job), std::vector<uint64_t>{});
  }
}

TEST(ScriptsFaultTest, AnotherCauseIsAnotherFault) {
  Job job = TwoTrain();
  job.Hear(1, kBug);
  job.Hear(2, protocol::Failing{kBug.reason, "KeyError, train.py, line 8"});
  EXPECT_FALSE(IsOver(job));
}

TEST(ScriptsFaultTest, WithoutACauseItMayBeTheSamples) {
  Job job = TwoTrain();
  job.Hear(1, protocol::Failing{kBug.reason});
  job.Hear(2, protocol::Failing{kBug.reason});
  EXPECT_FALSE(IsOver(job));
}

TEST(ScriptsFaultTest, OnSuspectedSamplesItIsTheirs) {
  Job job = TwoTrain();
  job.Hear(1, kBug);
  job.PushFor(2);
  job.CommittedEverywhere(1);
  ASSERT_EQ(job.Sent<Released>(2).lease.ranges.front().begin, 0u) << "what worker 0 has failed on";
  job.Hear(2, kBug);
  EXPECT_FALSE(IsOver(job));
}

// Where the same sample may stand among others.
TEST(ScriptsFaultTest, OnSamplesOfAnotherEpochItMayBeTheSame) {
  Job job = TwoTrain(Options().global_batch_size);
  job.Hear(1, kBug);
  job.Join(3, 0);
  ASSERT_EQ(job.Sent<Released>(3).lease.ranges.front().epoch, 1u);
  job.Hear(3, kBug);
  EXPECT_FALSE(IsOver(job));
}

}  // namespace
}  // namespace paceline::coordination
