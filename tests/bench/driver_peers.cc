#include "tests/bench/driver_peers.h"

#include <utility>

#include "lib/coordination/testing.h"

namespace paceline::bench {
namespace {

constexpr uint64_t kTrainSamples = 1'000'000'000;  // No epoch ends.

coordination::Fact SaidBy(uint64_t worker, protocol::WorkerMessage message) {
  return coordination::WorkerSaid{coordination::ConnectionId(worker + 1), std::move(message)};
}
coordination::Fact SaidByShard(protocol::ShardMessage message) {
  return coordination::ShardSaid{ShardId(0), std::move(message)};
}

}  // namespace

DriverPeers::DriverPeers(uint32_t workers) : workers_(workers) {}

void DriverPeers::Queue(uint64_t index) {
  Worker& worker = workers_[index];
  if (worker.is_queued || worker.leases.empty() || !worker.is_answered) return;
  worker.is_queued = true;
  ready_.push_back(index);
}

void DriverPeers::Sent(uint64_t index, const protocol::WorkerOrder& order) {
  const std::lock_guard lock(mutex_);
  Worker& worker = workers_[index];
  if (const auto* released = std::get_if<protocol::Released>(&order)) {
    worker.pulled = released->version;
    worker.is_answered = true;
    if (!released->lease.ranges.empty()) worker.leases.push_back(released->lease);
  } else if (const auto* go_on = std::get_if<protocol::Continued>(&order)) {
    worker.leases.push_back(go_on->lease);
  }
  Queue(index);
}

void DriverPeers::Sent(const protocol::ShardOrder& order) {
  const std::lock_guard lock(mutex_);
  if (const auto* configure = std::get_if<protocol::Configure>(&order)) {
    answers_.push_back(protocol::Configured{configure->generation});
    answers_.push_back(protocol::Filled{WorkerId(0), Incarnation(1)});
  } else if (std::holds_alternative<protocol::Open>(order)) {
    answers_.push_back(protocol::Opened{});
  } else if (const auto* commit = std::get_if<protocol::CommitAll>(&order)) {
    answers_.push_back(protocol::Committed{commit->commit.version, {1.0}});
  }
}

std::optional<coordination::Fact> DriverPeers::NextOfBirth() {
  const std::lock_guard lock(mutex_);
  if (const uint64_t worker = joined_; worker < workers_.size()) {
    ++joined_;
    return SaidBy(worker, protocol::Join{protocol::Role::kWorker, WorkerId(worker),
                                         coordination::testing::Model(), kTrainSamples, "CPU"});
  }
  if (answers_.empty()) return std::nullopt;
  coordination::Fact fact = SaidByShard(std::move(answers_.front()));
  answers_.pop_front();
  return fact;
}

std::optional<coordination::Fact> DriverPeers::Next() {
  const std::lock_guard lock(mutex_);
  if (!answers_.empty()) {
    coordination::Fact fact = SaidByShard(std::move(answers_.front()));
    answers_.pop_front();
    return fact;
  }
  if (ready_.empty()) return std::nullopt;
  const uint64_t index = ready_.front();
  ready_.pop_front();
  workers_[index].is_queued = false;
  return PushOf(index);
}

coordination::Fact DriverPeers::PushOf(uint64_t index) {
  Worker& worker = workers_[index];
  const protocol::Lease lease = std::move(worker.leases.front());
  worker.leases.pop_front();
  worker.is_answered = false;
  ++worker.steps;
  protocol::PushDone done;
  done.generation = coordination::CoordinatorOptions().generation;
  done.sequence = Sequence(++worker.sequence);
  done.based_on = worker.pulled;
  done.leases = {lease.id};
  for (const protocol::SampleRange& range : lease.ranges)
    done.samples += static_cast<uint32_t>(range.size());
  const double speed = (100 + static_cast<double>(index % 7) * 20) * (0.9 + 0.2 * Chance());
  done.timing = {.compute = Seconds(done.samples / speed),
                 .wait = Seconds(0.01 * Chance()),
                 .communication = Seconds(0.01 * Chance())};
  done.gradient = {.loss = 0.5 + 0.1 * Chance(), .squared_norm = 1 + Chance()};
  done.signals = {.cpu_available = Chance(), .memory_available = 4e9};
  done.traffic = {.pushed_bytes = 1000, .pulled_bytes = 1000};
  return SaidBy(index, std::move(done));
}

coordination::Fact DriverPeers::Heartbeat(uint64_t index) const {
  return SaidBy(index, protocol::Heartbeat{.doing = protocol::Doing::kComputing,
                                           .steps = workers_[index].steps});
}

coordination::Fact DriverPeers::ShardHeartbeat(uint64_t work_done) {
  return SaidByShard(protocol::ShardHeartbeat{.work_done = work_done});
}

double DriverPeers::Chance() {
  state_ = state_ * 6364136223846793005 + 1442695040888963407;
  return static_cast<double>(state_ >> 11) * 0x1p-53;
}

}  // namespace paceline::bench
