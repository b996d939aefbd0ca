#include "tests/explore/small_world.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <sstream>
#include <utility>

#include "lib/base/check.h"
#include "lib/sync/schemes/presets.h"
#include "lib/sync/trace/fields.h"

namespace paceline::sync::explore {

using State = SeenWorker::State;

SmallWorld::SmallWorld(const WorldOptions& options, std::unique_ptr<Policy> policy,
                       CheckedPolicy::Report report)
    : left_(options),
      at_(CoordinatesOf(options.spec)),
      policy_(std::make_unique<CheckedPolicy>(std::move(policy), options.spec, std::move(report))),
      pool_(options.samples_total),
      version_(options.spec.first_version) {
  for (uint32_t i = 0; i < options.spec.workers_expected; ++i) {
    workers_[WorkerId(i)] = SeenWorker{};
    Tell(WorkerJoined{WorkerId(i)});
  }
}

SmallWorld::SmallWorld(const SmallWorld& other)
    : left_(other.left_),
      at_(other.at_),
      // Clone of a CheckedPolicy gives a CheckedPolicy.
      policy_(static_cast<CheckedPolicy*>(other.policy_->Clone().release())),
      workers_(other.workers_),
      sequences_(other.sequences_),
      staged_(other.staged_),
      crashed_(other.crashed_),
      is_stopping_(other.is_stopping_),
      is_rolled_back_(other.is_rolled_back_),
      pool_(other.pool_),
      is_pool_news_(other.is_pool_news_),
      accumulated_(other.accumulated_),
      committed_(other.committed_),
      version_(other.version_),
      floor_(other.floor_),
      now_(other.now_) {}

std::vector<std::string> SmallWorld::Choices() const {
  std::vector<std::string> must;
  std::vector<std::string> may;
  for (const auto& [worker, seen] : workers_) {
    const bool may_push = !IsEager() || seen.unanswered == 0;
    if (seen.state == State::kComputing && may_push) {
      must.push_back(fmt::format("push {}", worker));
      if (seen.leased.size() > 1 && !IsEager()) must.push_back(fmt::format("push-all {}", worker));
      if (seen.offered) must.push_back(fmt::format("take {}", worker));
      if (left_.non_finite > 0) may.push_back(fmt::format("spoil {}", worker));
      if (left_.abandons > 0) may.push_back(fmt::format("abandon {}", worker));
      if (seen.is_interrupted) must.push_back(fmt::format("yield {}", worker));
    }
    if (seen.empty > 0) must.push_back(fmt::format("empty {}", worker));
    if (left_.crashes > 0) may.push_back(fmt::format("crash {}", worker));
  }
  if (left_.joins > 0) may.push_back("join");
  if (left_.quiesces > 0) may.push_back("quiesce");
  if (left_.deadlines > 0 && policy_->Deadline()) may.push_back("deadline");
  if (left_.reconfigured) may.push_back("reconfigure");
  must.insert(must.end(), may.begin(), may.end());
  if (is_rolled_back_) must.clear();
  return must;
}

void SmallWorld::Take(const std::string& choice) {
  now_ += left_.per_choice;
  Happen(choice);
  SayWhatReturned();
  if (!policy_->WantsSpare()) return;
  const auto accumulated_on = accumulated_on_;
  Tell(Spare{64});
  accumulated_on_ = accumulated_on;
}

// Each time that it says so somebody takes some of them, or nobody will.
void SmallWorld::SayWhatReturned() {
  if (left_.has_silent_ledger) return;
  const auto accumulated_on = accumulated_on_;
  while (pool_ > 0 && !is_stopping() && std::exchange(is_pool_news_, false)) {
    const bool is_any_starved = std::any_of(
        workers_.begin(), workers_.end(), [](const auto& each) { return each.second.is_starved; });
    if (is_any_starved) Tell(SamplesReturned{pool_});
  }
  accumulated_on_ = accumulated_on;
}

void SmallWorld::Happen(const std::string& choice) {
  Fields fields(choice);
  const auto kind = fields.Next<std::string>("choice");
  if (kind == "join") return Join();
  if (kind == "deadline") {
    --left_.deadlines;
    now_ = std::max(now_, *policy_->Deadline());
    return Tell(DeadlineReached{});
  }
  if (kind == "quiesce") {
    --left_.quiesces;
    is_stopping_ = true;
    // Due at once: whatever is left for later is reported.
    return Tell(Quiesce{.reason = QuiesceReason::kStop, .deadline = now_});
  }
  if (kind == "reconfigure") {
    const PolicySpec to = *std::exchange(left_.reconfigured, std::nullopt);
    at_ = CoordinatesOf(to);
    return Tell(Reconfigured{to});
  }
  const auto worker = fields.Next<WorkerId>("worker");
  SeenWorker& seen = workers_.at(worker);
  if (kind == "push") {
    PushFrom(worker, true);
  } else if (kind == "push-all") {
    PushFrom(worker, true, seen.leased.size());
  } else if (kind == "take") {
    seen.based_on = *std::exchange(seen.offered, std::nullopt);
  } else if (kind == "spoil") {
    --left_.non_finite;
    PushFrom(worker, false);
  } else if (kind == "empty") {
    --seen.empty;
    if (seen.leased.empty()) seen.state = State::kOutOfData;
    seen.is_starved = true;
    is_pool_news_ = true;
    Tell(OutOfData{worker});
  } else if (kind == "abandon" || kind == "yield") {
    if (kind == "abandon") --left_.abandons;
    seen.is_interrupted = false;
    const uint32_t samples = seen.leased.front();
    GiveBack(samples);
    seen.leased.erase(seen.leased.begin());
    if (seen.leased.empty()) seen.state = State::kWaiting;
    if (IsEager()) seen.based_on = seen.pulled.front();
    StepAbandoned abandoned{.worker = worker, .sequence = Sequence(++sequences_[worker])};
    // To those who look at it, the other reason says more.
    if (kind == "abandon" && left_.spec.sizing.strategy != Sizing::kEqual && samples > 1) {
      abandoned.reason = AbandonReason::kOutOfMemory;
      abandoned.samples_fit = samples / 2;
    }
    Tell(abandoned);
  } else {
    PACELINE_CHECK(kind == "crash", "{}", choice);
    --left_.crashes;
    if (!crashed_) crashed_ = worker;
    Lose(worker);
    Tell(WorkerLeft{.worker = worker, .reason = LeaveReason::kSilent});
  }
}

void SmallWorld::Join() {
  --left_.joins;
  const WorkerId worker =
      crashed_ ? *std::exchange(crashed_, std::nullopt) : WorkerId(left_.spec.workers_expected);
  workers_[worker] = SeenWorker{};
  Tell(WorkerJoined{worker});
}

void SmallWorld::PushFrom(WorkerId worker, bool is_finite, size_t steps) {
  SeenWorker& seen = workers_.at(worker);
  const Sequence sequence(++sequences_[worker]);
  const auto end = seen.leased.begin() + static_cast<std::ptrdiff_t>(steps);
  const uint32_t samples = std::accumulate(seen.leased.begin(), end, 0u);
  seen.leased.erase(seen.leased.begin(), end);
  staged_[{worker, sequence}] = {samples, seen.based_on};
  if (seen.leased.empty()) seen.state = State::kWaiting;
  seen.is_interrupted = false;
  PushArrived push{.worker = worker, .sequence = sequence, .based_on = seen.based_on};
  if (IsEager()) {
    ++seen.unanswered;
    seen.based_on = seen.pulled.front();
  }
  push.samples = samples;
  push.steps = static_cast<uint32_t>(steps);
  push.gradient = {.loss = 1, .squared_norm = 2, .is_finite = is_finite};
  // Each worker is slower than the one before, for controllers that look at times.
  push.timing.compute = Seconds(0.5 * samples * (1 + static_cast<double>(worker.value())));
  Tell(push);
}

void SmallWorld::GiveBack(uint32_t samples) {
  pool_ += samples;
  is_pool_news_ = true;
}

void SmallWorld::Lose(WorkerId worker) {
  GiveBack(0);  // What others left for it is news, too.
  for (const uint32_t samples : workers_.at(worker).leased) GiveBack(samples);
  workers_.erase(worker);
}

void SmallWorld::Tell(const Event& event) {
  std::vector<Decision> decisions;
  std::vector<Event> consequences;
  accumulated_on_.clear();
  policy_->Observe(event, now_, decisions);
  for (const Decision& decision : decisions) Apply(decision, consequences);
  floor_ = Slowest().value_or(floor_);
  const auto accumulated_on = accumulated_on_;
  for (const Event& consequence : consequences) Tell(consequence);
  accumulated_on_ = accumulated_on;
}

void SmallWorld::Apply(const Decision& decision, std::vector<Event>& consequences) {
  if (const auto* accumulate = std::get_if<Accumulate>(&decision)) {
    const Push push = staged_[{accumulate->worker, accumulate->sequence}];
    staged_.erase({accumulate->worker, accumulate->sequence});
    accumulated_ += push.samples;
    accumulated_on_.emplace_back(push.based_on, version_);
    const auto worker = workers_.find(accumulate->worker);
    if (worker != workers_.end()) ++worker->second.clock;
  } else if (const auto* drop = std::get_if<Drop>(&decision)) {
    GiveBack(staged_[{drop->worker, drop->sequence}].samples);
    staged_.erase({drop->worker, drop->sequence});
  } else if (std::holds_alternative<Commit>(decision)) {
    committed_ += std::exchange(accumulated_, 0);
    version_ = version_.Next();
    consequences.push_back(
        StepCommitted{.version = version_, .learning_rate = 0.1, .squared_norm = 1});
  } else if (const auto* release = std::get_if<sync::Release>(&decision)) {
    Release(*release);
  } else if (const auto* interrupt = std::get_if<Interrupt>(&decision)) {
    const auto found = workers_.find(interrupt->worker);
    if (found != workers_.end()) found->second.is_interrupted = true;
  } else if (const auto* go_on = std::get_if<Continue>(&decision)) {
    const auto worker = workers_.find(go_on->worker);
    const uint32_t samples = go_on->assignment.samples;
    if (worker != workers_.end())
      IsEager() ? LeaseEager(worker->second, samples) : Lease(worker->second, samples);
  } else if (const auto* offer = std::get_if<Offer>(&decision)) {
    // To those that compute while they fetch it; for the others it is a hint.
    const auto worker = workers_.find(offer->worker);
    if (worker != workers_.end() && at_.IsLocal()) worker->second.offered = offer->version;
  } else if (const auto* expel = std::get_if<Expel>(&decision)) {
    if (workers_.count(expel->worker) > 0) Lose(expel->worker);
    consequences.push_back(WorkerLeft{.worker = expel->worker, .reason = LeaveReason::kExpelled});
  } else if (std::holds_alternative<RollBack>(decision)) {
    is_rolled_back_ = true;
  }
}

void SmallWorld::Release(const sync::Release& release) {
  const auto found = workers_.find(release.worker);
  if (found == workers_.end()) return;
  SeenWorker& seen = found->second;
  if (IsEager()) return ReleaseEager(seen, release);
  const bool counted = seen.was_released && seen.state != State::kOutOfData;
  if (!counted) seen.clock = std::max(seen.clock, Slowest().value_or(floor_));
  seen.was_released = true;
  seen.based_on = release.version;
  seen.offered.reset();
  Lease(seen, release.assignment.samples);
}

void SmallWorld::Lease(SeenWorker& seen, uint32_t samples) {
  const uint32_t leased = std::min(samples, pool_);
  pool_ -= leased;
  seen.is_starved = false;
  if (leased > 0) {
    is_pool_news_ = true;
    seen.leased.push_back(leased);
  } else {
    ++seen.empty;
  }
  seen.state = seen.leased.empty() ? State::kFoundNothing : State::kComputing;
}

bool SmallWorld::CountsEager(const SeenWorker& seen) {
  return seen.was_released && (!seen.leased.empty() || seen.empty > 0 || !seen.is_starved);
}

// Coordination sends the version if a lease comes with it, or the worker has one to push.
void SmallWorld::ReleaseEager(SeenWorker& seen, const sync::Release& release) {
  if (!seen.leased.empty() || pool_ > 0) {
    if (seen.unanswered == 0 && !seen.pulled.empty()) seen.pulled.pop_back();
    seen.pulled.push_back(release.version);
    while (seen.pulled.size() > at_.depth) seen.pulled.pop_front();
    seen.unanswered = 0;
  }
  LeaseEager(seen, release.assignment.samples);
}

void SmallWorld::LeaseEager(SeenWorker& seen, uint32_t samples) {
  if (!CountsEager(seen)) seen.clock = std::max(seen.clock, Slowest().value_or(floor_));
  seen.was_released = true;
  if (seen.leased.empty() && !seen.pulled.empty()) seen.based_on = seen.pulled.back();
  Lease(seen, samples);
}

std::optional<uint64_t> SmallWorld::Slowest() const {
  std::optional<uint64_t> slowest;
  for (const auto& [worker, seen] : workers_) {
    const bool counts =
        IsEager() ? CountsEager(seen) : seen.was_released && seen.state != State::kOutOfData;
    if (!counts) continue;
    slowest = std::min(slowest.value_or(seen.clock), seen.clock);
  }
  return slowest;
}

bool SmallWorld::IsAtRest() const {
  return is_rolled_back_ || std::none_of(workers_.begin(), workers_.end(), [](const auto& entry) {
           return entry.second.state == State::kComputing || entry.second.empty > 0;
         });
}

std::optional<std::string> SmallWorld::Disorder() const {
  if (is_rolled_back_) return std::nullopt;
  if (!staged_.empty()) return fmt::format("{} pushes are unanswered", staged_.size());
  if (accumulated_ > 0) return fmt::format("{} samples are unpublished", accumulated_);
  const bool may_stop_early = is_stopping_ || workers_.empty();
  if (may_stop_early) return std::nullopt;
  if (pool_ > 0) return fmt::format("{} samples are left, and nobody takes them", pool_);
  if (committed_ != left_.samples_total) {
    return fmt::format("{} samples are committed, not {}", committed_, left_.samples_total);
  }
  return std::nullopt;
}

std::string SmallWorld::Fingerprint(const std::string& policy_state) const {
  std::ostringstream text;
  text << policy_state << '|' << left_.crashes << left_.joins << left_.non_finite << left_.abandons
       << left_.quiesces << left_.deadlines << left_.reconfigured.has_value() << is_stopping_
       << is_rolled_back_ << '|' << pool_ << ' ' << accumulated_ << ' ' << committed_ << '|';
  if (crashed_) text << crashed_->value();
  if (left_.per_choice > Duration{}) text << '@' << ToSeconds(now_ - Time{});
  // Versions in relation to the newest, clocks to the slowest's, where the scheme looks, so that
  // ways that differ in nothing else meet again. Sequences are left out for the same reason.
  const bool has_clocks = !at_.window.is_unbounded();
  const bool has_barrier = at_.reach || (!IsEager() && at_.modulation.rule != Modulation::kNone);
  const auto lag = [this](Version version) { return version_.value() - version.value(); };
  for (const auto& [worker, seen] : workers_) {
    text << '|' << worker.value() << ' ' << static_cast<int>(seen.state) << ' ' << seen.was_released
         << seen.empty << seen.is_interrupted << seen.is_starved;
    for (const uint32_t leased : seen.leased) text << ' ' << leased;
    if (seen.offered) text << " o" << lag(*seen.offered);
    if (seen.state == State::kComputing && has_barrier) text << ' ' << lag(seen.based_on);
    if (has_clocks) text << ' ' << seen.clock - std::min(seen.clock, floor_);
    if (IsEager()) text << " e" << seen.unanswered;
    if (IsEager() && at_.reach) {
      for (const Version version : seen.pulled) text << ' ' << lag(version);
    }
  }
  for (const auto& [push, staged] : staged_) {
    text << '|' << push.first.value() << '*' << staged.samples << ' ' << lag(staged.based_on);
  }
  return text.str();
}

}  // namespace paceline::sync::explore
