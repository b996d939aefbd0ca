// Those who found no samples: how often they look again, and that none is left waiting.
#include "lib/coordination/phases/starving.h"

#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using sync::Scheme;
using testing::Job;

// A job whose workers compute one sample at a time, and whose one shard answers at once.
class Tail {
 public:
  Tail(Scheme scheme, uint32_t workers, uint64_t samples, uint64_t epochs = 1)
      : job_(OptionsOf(workers, epochs), scheme) {
    job_.samples = samples;
    std::vector<std::pair<uint64_t, uint64_t>> joins;
    for (uint64_t at = 0; at < workers; ++at) joins.emplace_back(at + 1, at);
    job_.Opened(joins);
    Look();
  }

  // Whoever was sent on first pushes.
  void PushNext() {
    const auto [connection, released] = computing_.front();
    computing_.pop_front();
    protocol::PushDone done;
    done.generation = CoordinatorOptions().generation;
    done.sequence = Sequence(++pushes_[connection]);
    done.based_on = released.version;
    done.leases = {released.lease.id};
    for (const auto& range : released.lease.ranges)
      done.samples += static_cast<uint32_t>(range.size());
    job_.Hear(connection.value(), done);
    Look();
  }

  // The one that was sent on first is lost with what it computes.
  void LoseNext() {
    const ConnectionId connection = computing_.front().first;
    computing_.pop_front();
    Tell(WorkerGone{connection});
  }

  void PushAll() {
    while (computing() > 0) PushNext();
  }

  void Tell(const Fact& fact) {
    job_.Step(fact);
    Look();
  }

  size_t computing() const { return computing_.size(); }
  bool is_over() const { return job_.coordinator.status().phase > Phase::kTraining; }
  size_t found_nothing = 0;  // So often somebody was sent on and found none.
  size_t dropped = 0;        // Pushes whose samples came back.

 private:
  static CoordinatorOptions OptionsOf(uint32_t workers, uint64_t epochs) {
    CoordinatorOptions options;
    options.shards = 1;
    options.workers_wanted = options.workers_max = workers;
    options.global_batch_size = workers;
    options.epochs_max = epochs;
    return options;
  }

  void Look() {
    std::vector<Version> commits;
    for (const Effect& effect : std::exchange(job_.effects, {})) {
      if (const auto* send = std::get_if<SendWorker>(&effect)) {
        if (const auto* released = std::get_if<protocol::Released>(&send->order))
          computing_.emplace_back(send->connection, *released);
      } else if (const auto* send = std::get_if<SendShard>(&effect)) {
        if (const auto* commit = std::get_if<protocol::CommitAll>(&send->order))
          commits.push_back(commit->commit.version);
        dropped += std::holds_alternative<protocol::DropOrder>(send->order);
      } else if (const auto* observe = std::get_if<Observe>(&effect)) {
        found_nothing += std::holds_alternative<sync::OutOfData>(observe->event);
      }
    }
    for (const Version version : commits) job_.Committed(0, version.value());
    if (!commits.empty()) Look();
  }

  Job job_;
  std::deque<std::pair<ConnectionId, protocol::Released>> computing_;
  std::map<ConnectionId, uint64_t> pushes_;
};

class StarvingTest : public ::testing::TestWithParam<std::tuple<Scheme, uint32_t>> {
 protected:
  Scheme scheme() const { return std::get<0>(GetParam()); }
  uint32_t workers() const { return std::get<1>(GetParam()); }
};

TEST_P(StarvingTest, AtTheTailEachLooksOnce) {
  Tail tail(scheme(), workers(), 2 * workers() + 1);
  tail.PushAll();
  EXPECT_TRUE(tail.is_over());
  // Whose push was dropped looks, and leaves what came back to who has waited for it.
  EXPECT_LE(tail.found_nothing, workers() + tail.dropped);
}

// Of three that still compute one is lost: what it had goes to one of all those who found nothing.
TEST_P(StarvingTest, OfSamplesThatComeBackAsManyHearAsTheyAreFor) {
  Tail tail(scheme(), workers(), workers() + workers() / 2);
  for (uint32_t at = 0; at < workers(); ++at) tail.PushNext();
  while (tail.computing() > 3) tail.PushNext();
  const size_t before = tail.found_nothing;
  EXPECT_GE(before, workers() / 2 - 1);
  tail.LoseNext();
  EXPECT_EQ(tail.computing(), 3u);
  EXPECT_EQ(tail.found_nothing, before);
  tail.PushAll();
  EXPECT_TRUE(tail.is_over());
  EXPECT_LE(tail.found_nothing, workers() + 1);
}

TEST(LongerCourse, WakesWhoFoundNothing) {
  Tail tail(Scheme::kAsp, 2, 3);
  tail.PushNext();
  tail.PushNext();
  ASSERT_EQ(tail.computing(), 1u);
  SpecChanged longer{.workers_wanted = 2, .workers_min = 1};
  longer.course = Course{.epochs_max = 2};
  tail.Tell(longer);
  EXPECT_EQ(tail.computing(), 2u);
}

// Two samples an epoch, two epochs open: the third begins when the first is committed.
TEST(NextEpoch, WakesWhoFoundNothing) {
  Tail tail(Scheme::kAsp, 5, 2, 3);
  ASSERT_EQ(tail.computing(), 4u);
  tail.PushNext();
  EXPECT_EQ(tail.computing(), 3u);
  tail.PushNext();
  EXPECT_EQ(tail.computing(), 4u) << "its worker's, and the one's who found none";
  tail.PushAll();
  EXPECT_TRUE(tail.is_over());
}

INSTANTIATE_TEST_SUITE_P(Tails, StarvingTest,
                         ::testing::Combine(::testing::Values(Scheme::kBsp, Scheme::kBackupWorkers,
                                                              Scheme::kSsp, Scheme::kAsp),
                                            ::testing::Values(100, 1000)));

}  // namespace
}  // namespace paceline::coordination
