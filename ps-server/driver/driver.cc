#include "ps-server/driver/driver.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"
#include "lib/telemetry/clock.h"

namespace paceline::ps {

using telemetry::SteadyNow;

namespace {

// Working progress out costs more than a step's decisions.
constexpr Duration kMeasurePeriod = std::chrono::milliseconds(50);

}  // namespace

Driver::Driver(DriverOptions options, DriverMetrics* metrics)
    : options_(std::move(options)),
      metrics_(metrics),
      coordinator_(options_.coordination),
      meter_(options_.coordination.epochs_max, options_.coordination.steps_max),
      thread_([this] { Run(); }) {}

Driver::~Driver() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (saver_.joinable()) saver_.join();
}

coordination::ConnectionId Driver::WorkerConnected(std::shared_ptr<WorkerConnection> connection) {
  std::lock_guard lock(mutex_);
  const coordination::ConnectionId id = next_connection_;
  next_connection_ = next_connection_.Next();
  workers_[id] = std::move(connection);
  return id;
}

void Driver::WorkerSaid(coordination::ConnectionId connection, protocol::WorkerMessage message) {
  Post(coordination::WorkerSaid{connection, std::move(message)});
}

void Driver::WorkerGone(coordination::ConnectionId connection) {
  {
    std::lock_guard lock(mutex_);
    workers_.erase(connection);
  }
  Post(coordination::WorkerGone{connection});
}

bool Driver::ShardConnected(const protocol::Register& shard,
                            std::shared_ptr<ShardConnection> connection) {
  {
    std::lock_guard lock(mutex_);
    if (shards_.contains(shard.shard) || shard.shard.value() >= options_.coordination.shards) {
      connection->Close();
      return false;
    }
    shards_[shard.shard] = std::move(connection);
    shard_addresses_[shard.shard] = shard.address;
  }
  Post(coordination::ShardSaid{shard.shard, shard});
  return true;
}

void Driver::ShardSaid(ShardId shard, protocol::ShardMessage message) {
  Post(coordination::ShardSaid{shard, std::move(message)});
}

void Driver::ShardGone(ShardId shard, std::string reason) {
  {
    std::lock_guard lock(mutex_);
    shards_.erase(shard);
  }
  Post(coordination::ShardGone{shard, std::move(reason)});
}

void Driver::AskToStop(std::string reason, bool is_failure) {
  Post(coordination::StopAsked{std::move(reason), is_failure});
}

Progress Driver::progress() const {
  std::lock_guard lock(mutex_);
  return progress_;
}

std::optional<coordination::Finished> Driver::finished() const {
  std::lock_guard lock(mutex_);
  return finished_;
}

std::optional<coordination::Finished> Driver::WaitFinished(Duration timeout) {
  std::unique_lock lock(mutex_);
  finished_wake_.wait_for(lock, timeout, [this] { return finished_.has_value(); });
  return finished_;
}

void Driver::Post(coordination::Fact fact) {
  const Time now = SteadyNow();
  {
    std::lock_guard lock(mutex_);
    inputs_.push_back({std::move(fact), now});
  }
  wake_.notify_one();
}

std::optional<Time> Driver::NextDeadline() const {
  std::optional<Time> next = coordinator_.Deadline();
  const auto consider = [&next](std::optional<Time> other) {
    if (other && (!next || *other < *next)) next = other;
  };
  if (policy_ != nullptr) consider(policy_->Deadline());
  if (has_moved_) consider(measured_ + kMeasurePeriod);
  return next;
}

void Driver::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    // A Time counts from the steady clock's own epoch, so a wait for a duration from now is exact
    // enough.
    const std::optional<Time> deadline = NextDeadline();
    const auto has_work = [this] { return is_stopping_ || !inputs_.empty(); };
    if (deadline) {
      const Time now = SteadyNow();  // The deadline may be as early as Time can say.
      wake_.wait_for(lock, *deadline <= now ? Duration::zero() : *deadline - now, has_work);
    } else {
      wake_.wait(lock, has_work);
    }
    if (is_stopping_) return;
    std::deque<Input> inputs = std::exchange(inputs_, {});
    lock.unlock();
    for (const Input& input : inputs) Process(input.fact, input.arrived);
    if (const auto due = policy_ ? policy_->Deadline() : std::nullopt; due && *due <= SteadyNow()) {
      now_ = arrived_ = SteadyNow();
      TellPolicy(sync::DeadlineReached{});
      DoAll();
    }
    if (const auto due = coordinator_.Deadline(); due && *due <= SteadyNow()) {
      Process(coordination::DeadlineReached{}, SteadyNow());
    }
    has_moved_ = true;
    if (SteadyNow() >= measured_ + kMeasurePeriod) Measure();
    lock.lock();
  }
}

void Driver::Measure() {
  measured_ = SteadyNow();
  has_moved_ = false;
  Progress progress = meter_.Measure(coordinator_, measured_);
  std::lock_guard lock(mutex_);
  progress_ = std::move(progress);
}

void Driver::Process(const coordination::Fact& fact, Time arrived) {
  arrived_ = arrived;
  now_ = SteadyNow();
  std::vector<coordination::Effect> stepped;
  coordinator_.Step(fact, now_, stepped);
  Enqueue(std::move(stepped));
  DoAll();
}

void Driver::DoAll() {
  while (!effects_.empty()) {
    const coordination::Effect effect = std::move(effects_.front());
    effects_.pop_front();
    std::visit([this](const auto& known) { Do(known); }, effect);
  }
}

void Driver::TellPolicy(const sync::Event& event) {
  PACELINE_CHECK(policy_ != nullptr, "an event came before training opened: {}", event.index());
  metrics_->Observed(event);
  coordination::Decided decided;
  policy_->Observe(event, now_, decided.decisions);
  metrics_->Decided(decided.decisions);
  std::vector<coordination::Effect> stepped;
  coordinator_.Step(decided, now_, stepped);
  Enqueue(std::move(stepped));
}

// New effects go before those that are still queued: an Observe is a call, and the rest of its list
// was written for the time after it.
void Driver::Enqueue(std::vector<coordination::Effect> effects) {
  effects_.insert(effects_.begin(), std::make_move_iterator(effects.begin()),
                  std::make_move_iterator(effects.end()));
}

}  // namespace paceline::ps
