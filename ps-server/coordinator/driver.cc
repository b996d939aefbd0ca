#include "ps-server/coordinator/driver.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "lib/base/check.h"
#include "lib/coordination/carry_out.h"
#include "lib/telemetry/clock.h"

namespace paceline::ps {

using telemetry::SteadyNow;

namespace {

// Working progress out costs more than a step's decisions, and the more the more workers there are:
// it gets a twentieth of the time at most.
constexpr Duration kMeasurePeriod = std::chrono::milliseconds(50);
constexpr int kMeasureShare = 20;

// Whoever has not turned for so long stood still as a whole: what was said meanwhile is on its way,
// and gets so long to come in before anybody's silence counts.
constexpr Duration kAway = std::chrono::seconds(3);
constexpr Duration kCatchUp = std::chrono::seconds(2);

// Units of a policy's maintenance done at once; a push that arrives meanwhile waits for so much.
constexpr uint32_t kSpareBudget = 64;
// It gets a tenth of the time at most: a policy that wants some after each fact would have a core.
constexpr int kSpareShare = 10;

// Policies know workers by their numbers, people by their groups too.
void NameWorkers(const std::vector<coordination::WorkerStatus>& workers,
                 std::vector<sync::Figure>& figures) {
  std::map<std::string, std::string> names;
  for (const coordination::WorkerStatus& worker : workers) {
    if (!worker.seat.group.empty()) names[ToString(worker.worker)] = ToString(worker.seat);
  }
  if (names.empty()) return;
  for (sync::Figure& figure : figures) {
    if (figure.kind->label != sync::kWorkerLabel) continue;
    if (const auto name = names.find(figure.label); name != names.end())
      figure.label = name->second;
  }
}

}  // namespace

Driver::Driver(DriverOptions options, DriverMetrics* metrics)
    : options_(std::move(options)),
      metrics_(metrics),
      coordinator_(options_.coordination),
      meter_(options_.coordination.epochs_max, options_.coordination.steps_max),
      stragglers_(options_.stragglers),
      turned_(SteadyNow()),
      timer_([this] { RunTimer(); }) {}

Driver::~Driver() { Stop(); }

void Driver::Stop() {
  {
    std::unique_lock lock(mutex_);
    is_stopping_ = true;
    wake_.notify_all();
    wake_.wait(lock, [this] { return !is_at_work_; });
  }
  if (timer_.joinable()) timer_.join();
  if (saver_.joinable()) saver_.join();
  background_.reset();
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

void Driver::ChangeSpec(const coordination::SpecChanged& changed) { Post(changed); }

void Driver::Drain(std::vector<protocol::Seat> workers) {
  Post(coordination::DrainAsked{std::move(workers)});
}

void Driver::FrozenArriving(uint64_t bytes, uint64_t total) {
  Post(coordination::FrozenArriving{bytes, total});
}

void Driver::AskToStop(std::string reason, coordination::StopKind kind) {
  Post(coordination::StopAsked{std::move(reason), kind});
}

Time Driver::turned() const {
  std::lock_guard lock(mutex_);
  return turned_;
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

void Driver::Post(coordination::Fact fact, By by) {
  const Time now = SteadyNow();
  std::unique_lock lock(mutex_);
  if (is_stopping_) return;
  inputs_.push_back({std::move(fact), now});
  if (is_at_work_) return;  // Whoever it is takes this one along.
  if (by == By::kCaller) return Work(lock);
  wake_.notify_all();
}

std::optional<Time> Driver::NextDeadline() const {
  std::optional<Time> next = coordinator_.Deadline();
  if (next) next = std::max(*next, deaf_until_);
  const auto consider = [&next](std::optional<Time> other) {
    if (other && (!next || *other < *next)) next = other;
  };
  if (policy_ != nullptr) consider(policy_->Deadline());
  if (has_moved_) consider(measure_from_);
  return next;
}

void Driver::Work(std::unique_lock<std::mutex>& lock) {
  is_at_work_ = true;
  do {
    WorkOnce(lock);
    turned_ = SteadyNow();
    // Once between two facts: what the policy still wants then can wait for the next.
    if (inputs_.empty() && !is_stopping_) OfferSpare(lock);
  } while (!inputs_.empty() && !is_stopping_);
  is_at_work_ = false;
  deadline_ = NextDeadline();
  if (is_stopping_ || (deadline_ && *deadline_ < timer_until_)) wake_.notify_all();
}

void Driver::WorkOnce(std::unique_lock<std::mutex>& lock) {
  std::deque<Input> inputs = std::exchange(inputs_, {});
  lock.unlock();
  for (const Input& input : inputs) Process(input.fact, input.arrived);
  if (const auto due = policy_ ? policy_->Deadline() : std::nullopt; due && *due <= SteadyNow()) {
    now_ = arrived_ = SteadyNow();
    TellPolicy(sync::DeadlineReached{});
    DoAll();
  }
  const Time now = SteadyNow();
  if (now - turned_ >= kAway) deaf_until_ = now + kCatchUp;
  if (const auto due = coordinator_.Deadline(); due && *due <= now && now >= deaf_until_) {
    Process(coordination::DeadlineReached{}, SteadyNow());
  }
  has_moved_ = true;
  if (SteadyNow() >= measure_from_) Measure();
  lock.lock();
}

void Driver::OfferSpare(std::unique_lock<std::mutex>& lock) {
  if (policy_ == nullptr || !policy_->WantsSpare() || SteadyNow() < spare_from_) return;
  lock.unlock();
  now_ = arrived_ = SteadyNow();
  TellPolicy(sync::Spare{kSpareBudget});
  DoAll();
  const Time end = SteadyNow();
  spare_from_ = end + (kSpareShare - 1) * (end - now_);
  lock.lock();
}

void Driver::RunTimer() {
  std::unique_lock lock(mutex_);
  if (!is_at_work_) deadline_ = NextDeadline();
  while (!is_stopping_) {
    const bool is_due = deadline_ && *deadline_ <= SteadyNow();
    if (!is_at_work_ && (is_due || !inputs_.empty())) {
      Work(lock);
      continue;
    }
    // Whoever is at work tells of an earlier deadline.
    timer_until_ = deadline_ && !is_due ? *deadline_ : Time::max();
    if (timer_until_ == Time::max()) {
      wake_.wait(lock);
    } else {
      wake_.wait_for(lock, timer_until_ - SteadyNow());
    }
    timer_until_ = Time::max();
  }
}

void Driver::Measure() {
  const Time now = SteadyNow();
  has_moved_ = false;
  Progress progress = meter_.Measure(coordinator_, now);
  metrics_->WorkersAre(progress.status.workers);
  for (const coordination::WorkerStatus& worker : progress.status.workers)
    progress.paces.push_back(stragglers_.PaceOf(worker.worker, now));
  if (policy_ != nullptr) policy_->Tell(progress.figures);
  NameWorkers(progress.status.workers, progress.figures);
  metrics_->PolicyTold(progress.figures);
  progress.checkpoint_note = options_.checkpoint_note;
  progress.room_problem = room_problem_.value_or("");
  progress.idle_patterns = idle_patterns_;
  progress.checkpoint_completed = checkpoint_completed_;
  const Time end = SteadyNow();
  measure_from_ = std::max(now + kMeasurePeriod, end + (kMeasureShare - 1) * (end - now));
  std::lock_guard lock(mutex_);
  progress_ = std::move(progress);
}

void Driver::Process(const coordination::Fact& fact, Time arrived) {
  arrived_ = arrived;
  now_ = SteadyNow();
  if (const auto* changed = std::get_if<coordination::SpecChanged>(&fact);
      changed != nullptr && changed->course)
    meter_.StopsAt(changed->course->epochs_max, changed->course->steps_max);
  coordinator_.Step(fact, now_, effects_);
  DoAll();
}

void Driver::DoAll() {
  coordination::CarryOut(effects_, [this](const coordination::Effect& effect) {
    if (options_.on_effect) options_.on_effect(effect);
    std::visit([this](const auto& known) { Do(known); }, effect);
  });
}

void Driver::TellPolicy(const sync::Event& event) {
  PACELINE_CHECK(policy_ != nullptr, "an event came before training opened: {}", event.index());
  metrics_->Observed(event);
  if (const auto* push = std::get_if<sync::PushArrived>(&event))
    stragglers_.Pushed(push->worker, push->timing.compute, push->samples, now_);
  if (const auto* left = std::get_if<sync::WorkerLeft>(&event)) stragglers_.Left(left->worker);
  coordination::Decided decided;
  const Time began = SteadyNow();
  policy_->Observe(event, now_, decided.decisions);
  if (!std::holds_alternative<sync::Spare>(event)) metrics_->PolicyTook(SteadyNow() - began);
  metrics_->Decided(decided.decisions);
  coordinator_.Step(decided, now_, effects_);
}

}  // namespace paceline::ps
