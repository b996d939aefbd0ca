// The driver with two shard hosts and workers as threads, without a transport: what comes in from
// many threads at once is worked on one fact at a time. To be run under the thread sanitizer.
#include "ps-server/coordinator/driver.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/epoch_order.h"
#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/policy_factory.h"
#include "ps-server/coordinator/own_shard.h"

namespace paceline::ps {
namespace {

constexpr uint32_t kWorkers = 3;
constexpr uint64_t kSamples = 60;
constexpr uint64_t kEpochs = 5;

store::Layout LayoutOf(int64_t parameters) {
  return store::Layout::Create({{"w", {parameters}}}).value();
}

// Orders for a worker's thread, which takes the session's end for a Finish.
class Inbox final : public WorkerConnection {
 public:
  void Send(const protocol::WorkerOrder& order) override {
    std::lock_guard lock(mutex_);
    orders_.push_back(order);
    changed_.notify_all();
  }
  void Close() override { Send(protocol::Finish{"session ended"}); }

  bool IsEmpty() {
    std::lock_guard lock(mutex_);
    return orders_.empty();
  }
  protocol::WorkerOrder Next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !orders_.empty(); });
    protocol::WorkerOrder order = std::move(orders_.front());
    orders_.pop_front();
    return order;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<protocol::WorkerOrder> orders_;
};

struct World {
  World(sync::Scheme scheme, int64_t parameters) : layout(LayoutOf(parameters)) {
    coordination::CoordinatorOptions coordination;
    coordination.shards = 2;
    coordination.workers_wanted = kWorkers;
    coordination.global_batch_size = 2 * kWorkers;
    coordination.epochs_max = kEpochs;
    coordination.schedule.base = 0.01;
    driver = std::make_unique<Driver>(
        DriverOptions{
            .coordination = coordination,
            .optimizer = optim::SgdOptions{},
            .fetch = [](const Generation&, const auto&,
                        Version) { return std::vector<std::byte>(); },
            .save =
                [this](const auto&, const auto&, const auto&) {
                  ++saved;
                  return OkStatus();
                },
            .make_policy = [this, scheme](uint32_t workers, Version first,
                                          const std::string&) -> std::unique_ptr<sync::Policy> {
              if (before_policy) before_policy();
              const sync::PolicySpec spec{.scheme = scheme,
                                          .global_batch_size = 2 * kWorkers,
                                          .workers_expected = workers,
                                          .first_version = first};
              return std::make_unique<sync::CheckedPolicy>(
                  sync::MakePolicy(spec).value(), spec,
                  [](const std::string& violation) { ADD_FAILURE() << violation; });
            },
            .on_effect =
                [this](const coordination::Effect& effect) {
                  if (on_effect) on_effect(effect);
                }},
        &metrics);
    for (uint64_t rank = 0; rank < 2; ++rank) {
      hosts.push_back(std::make_unique<ShardHost>([this, rank](protocol::ShardMessage message) {
        driver->ShardSaid(ShardId(rank), std::move(message));
      }));
    }
    for (uint64_t rank = 0; rank < 2; ++rank) {
      EXPECT_TRUE(driver->ShardConnected({ShardId(rank), "unix:"},
                                         std::make_shared<OwnShard>(hosts[rank].get())));
    }
  }

  ~World() { driver->Stop(); }  // As in the process: the hosts go first.

  void Work(uint64_t index);
  void Fill(uint64_t index, const protocol::Admitted& admitted);
  void Push(const store::PushId& id, const Generation& generation);
  bool IsFinite(const protocol::Lease& lease) const;

  const store::Layout layout;
  telemetry::Metrics registry;
  DriverMetrics metrics{&registry};
  std::atomic<int> saved = 0;
  std::function<void()> before_policy;
  std::function<void(const coordination::Effect&)> on_effect;
  std::optional<uint64_t> ill_sample;  // No gradient that it has a part in is finite.
  std::unique_ptr<Driver> driver;
  std::vector<std::unique_ptr<ShardHost>> hosts;
};

void World::Fill(uint64_t index, const protocol::Admitted& admitted) {
  for (auto& host : hosts) {
    const auto buffer = host->BeginFill(admitted.generation, WorkerId(index), admitted.incarnation);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    std::fill((*buffer)->begin(), (*buffer)->end(), std::byte{0});
    ASSERT_TRUE(host->EndFill(*buffer).ok());
  }
}

void World::Push(const store::PushId& id, const Generation& generation) {
  for (auto& host : hosts) {
    const std::shared_ptr<store::Shard> shard = host->Serving(generation).value();
    const auto staging = shard->Stage(id);
    ASSERT_TRUE(staging.ok()) << staging.status();
    std::fill(staging->bytes.begin(), staging->bytes.end(), std::byte{0});
    ASSERT_TRUE(shard->Seal(id, staging->ticket).ok());
  }
}

bool World::IsFinite(const protocol::Lease& lease) const {
  EpochOrder order(kSamples, 0);
  for (const protocol::SampleRange& range : lease.ranges) {
    for (uint64_t at = range.begin; at < range.end; ++at)
      if (order.Epoch(range.epoch)[at] == ill_sample) return false;
  }
  return true;
}

void World::Work(uint64_t index) {
  const auto inbox = std::make_shared<Inbox>();
  const coordination::ConnectionId connection = driver->WorkerConnected(inbox);
  driver->WorkerSaid(
      connection,
      protocol::Join{.worker = WorkerId(index), .layout = layout, .train_samples = kSamples});
  protocol::Admitted admitted;
  Sequence sequence{1};
  while (true) {
    const protocol::WorkerOrder order = inbox->Next();
    if (const auto* told = std::get_if<protocol::Admitted>(&order)) admitted = *told;
    if (std::holds_alternative<protocol::Fill>(order)) Fill(index, admitted);
    if (const auto* released = std::get_if<protocol::Released>(&order)) {
      Push({WorkerId(index), admitted.incarnation, sequence}, admitted.generation);
      uint32_t samples = 0;  // Fewer than were assigned, where an ill one is looked for.
      for (const protocol::SampleRange& range : released->lease.ranges)
        samples += static_cast<uint32_t>(range.size());
      driver->WorkerSaid(
          connection,
          protocol::PushDone{.generation = admitted.generation,
                             .sequence = sequence,
                             .based_on = released->version,
                             .samples = samples,
                             .leases = {released->lease.id},
                             .gradient = {.loss = 1, .is_finite = IsFinite(released->lease)}});
      sequence = sequence.Next();
    }
    const bool is_over = std::holds_alternative<protocol::Finish>(order) ||
                         std::holds_alternative<protocol::Refused>(order);
    if (is_over) break;
  }
  driver->WorkerGone(connection);
}

struct Case {
  const char* name;
  sync::Scheme scheme;
  int64_t parameters;  // Small slices are worked on by whoever brings an order, large ones are not.
};

class DriverTest : public ::testing::TestWithParam<Case> {};

TEST_P(DriverTest, WorkersOnManyThreadsCommitEverySampleOnce) {
  World world(GetParam().scheme, GetParam().parameters);
  std::vector<std::thread> workers;
  for (uint64_t i = 0; i < kWorkers; ++i) workers.emplace_back([&world, i] { world.Work(i); });
  const auto finished = world.driver->WaitFinished(Seconds(60));
  for (std::thread& worker : workers) worker.join();
  ASSERT_TRUE(finished.has_value());
  EXPECT_TRUE(finished->is_success) << finished->reason;
  EXPECT_EQ(world.saved, 1);
  const Progress progress = world.driver->progress();
  EXPECT_EQ(progress.status.committed_samples, kEpochs * kSamples);
  ASSERT_EQ(progress.epochs.size(), kEpochs);
  for (const auto& epoch : progress.epochs) EXPECT_EQ(epoch.committed, kSamples) << epoch.epoch;
}

// What /healthz goes by.
TEST(Driver, IsSeenToTurnUnlessItHangs) {
  World world(sync::Scheme::kBsp, 100);
  std::promise<void> is_hanging, may_go_on;
  world.before_policy = [&, go_on = may_go_on.get_future().share()] {
    is_hanging.set_value();
    go_on.wait();
  };
  const Time before = world.driver->turned();
  world.driver->ShardSaid(ShardId(0), protocol::ShardHeartbeat{});
  // The timer's thread may be at work, and then takes it.
  while (world.driver->turned() <= before) std::this_thread::yield();
  std::vector<std::thread> workers;
  for (uint64_t i = 0; i < kWorkers; ++i) workers.emplace_back([&world, i] { world.Work(i); });
  is_hanging.get_future().wait();
  const Time hung = world.driver->turned();
  world.driver->ShardSaid(ShardId(0), protocol::ShardHeartbeat{});
  EXPECT_EQ(world.driver->turned(), hung);
  may_go_on.set_value();
  EXPECT_TRUE(world.driver->WaitFinished(Seconds(60)).has_value());
  for (std::thread& worker : workers) worker.join();
  EXPECT_GT(world.driver->turned(), hung);
}

// A sample that makes two workers ill is mostly found in the step that asks the policy about the
// second push, and that effect then comes before what the policy decides. Where it is found later
// depends on the threads, so some lives are looked at.
TEST(Driver, CarriesEffectsOutInTheOrderInWhichTheyWereWanted) {
  bool was_shown = false;
  for (int life = 0; life < 20 && !was_shown; ++life) {
    World world(sync::Scheme::kAsp, 100);
    world.ill_sample = 17;
    bool was_asked = false;  // By the effect before.
    world.on_effect = [&](const coordination::Effect& effect) {
      if (was_asked && std::holds_alternative<coordination::SamplePoisoned>(effect))
        was_shown = true;
      const auto* asks = std::get_if<coordination::Observe>(&effect);
      was_asked = asks != nullptr && std::holds_alternative<sync::PushArrived>(asks->event);
    };
    std::vector<std::thread> workers;
    for (uint64_t i = 0; i < kWorkers; ++i) workers.emplace_back([&world, i] { world.Work(i); });
    EXPECT_TRUE(world.driver->WaitFinished(Seconds(60)).has_value());
    for (std::thread& worker : workers) worker.join();
  }
  EXPECT_TRUE(was_shown);
}

TEST(Driver, SendsNothingOnceItIsStopped) {
  World world(sync::Scheme::kBsp, 100);
  const auto inbox = std::make_shared<Inbox>();
  const coordination::ConnectionId connection = world.driver->WorkerConnected(inbox);
  world.driver->Stop();
  world.hosts.clear();
  world.driver->WorkerSaid(
      connection,
      protocol::Join{.worker = WorkerId(0), .layout = world.layout, .train_samples = kSamples});
  world.driver->AskToStop("test", coordination::StopKind::kSuspend);
  EXPECT_FALSE(world.driver->finished().has_value());
  EXPECT_TRUE(inbox->IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, DriverTest,
                         ::testing::Values(Case{"BspSmall", sync::Scheme::kBsp, 40'000},
                                           Case{"BspLarge", sync::Scheme::kBsp, 400'000},
                                           Case{"AspSmall", sync::Scheme::kAsp, 40'000},
                                           Case{"AspLarge", sync::Scheme::kAsp, 400'000}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace paceline::ps
