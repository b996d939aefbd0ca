#include "tests/explore/coordination/small_world.h"

#include <algorithm>
#include <utility>

#include "lib/coordination/testing.h"

namespace paceline::coordination::testing {

using Kind = Action::Kind;

namespace {

sync::Scheme NextScheme(sync::Scheme scheme) {
  switch (scheme) {
    case sync::Scheme::kBsp:
      return sync::Scheme::kSsp;
    case sync::Scheme::kSsp:
      return sync::Scheme::kBackupWorkers;
    case sync::Scheme::kBackupWorkers:
      return sync::Scheme::kAsp;
    default:
      return sync::Scheme::kBsp;
  }
}

}  // namespace

CoordinatorOptions OptionsOf(const WorldOptions& world) {
  CoordinatorOptions options;
  options.shards = world.shards;
  options.workers_wanted = world.workers;
  options.schedule_timeout = Seconds(40);
  options.shards_timeout = Seconds(20);
  options.evaluation_timeout = Seconds(20);
  options.evaluation_period = Seconds(0);
  options.global_batch_size = world.global_batch_size;
  options.epochs_max = world.epochs;
  options.on_drop = world.on_drop;
  options.gradient_clip_norm = world.clip_norm;
  options.is_layer_wise = world.is_layer_wise;
  options.has_evaluator = world.has_evaluator;
  if (world.has_checkpoints) {
    options.checkpoint.emplace();
    options.checkpoint->period = Seconds(0);
    options.checkpoint->keep = 2;
  }
  return options;
}

SmallWorld::SmallWorld(const WorldOptions& options)
    : options_(options),
      coordinator_(OptionsOf(options)),
      policy_violations_(std::make_shared<std::vector<std::string>>()),
      shards_(options.shards),
      processes_(options.workers + (options.has_evaluator ? 1 : 0)) {
  if (options_.has_evaluator) processes_.back().is_evaluator = true;
  for (uint64_t s = 0; s < options.shards; ++s)
    shards_[s].answers.push_back(protocol::Register{ShardId(s), "unix:"});
  for (uint64_t p = 0; p < processes_.size(); ++p) Start(p);
  if (options.starts_afresh) return;
  // Fair and in order until every worker has samples to work on.
  const auto is_released = [&] {
    return std::all_of(processes_.begin(), processes_.end(), [](const Process& process) {
      return process.is_evaluator ||
             (!process.inbox.empty() &&
              std::holds_alternative<protocol::Released>(process.inbox.front()));
    });
  };
  for (int i = 0; i < 1000 && !is_released(); ++i) {
    for (const Action& action : Enabled()) {
      const bool is_startup =
          action.kind != Kind::kWorkerActs || processes_[action.index].inbox.empty() ||
          !std::holds_alternative<protocol::Released>(processes_[action.index].inbox.front());
      if (action.kind > Kind::kKept || !is_startup) continue;
      Do(action);
      break;
    }
  }
}

SmallWorld::SmallWorld(const SmallWorld& other)
    : options_(other.options_),
      coordinator_(other.coordinator_),
      policy_(other.policy_ == nullptr ? nullptr : other.policy_->Clone()),
      policy_violations_(other.policy_violations_),
      now_(other.now_),
      shards_(other.shards_),
      processes_(other.processes_),
      incoming_(other.incoming_),
      connections_(other.connections_),
      saving_(other.saving_),
      finished_(other.finished_),
      samples_(other.samples_),
      committed_(other.committed_),
      contents_(other.contents_),
      cuts_(other.cuts_),
      completing_(other.completing_),
      disk_(other.disk_),
      starts_(other.starts_),
      acknowledged_(other.acknowledged_),
      lost_(other.lost_),
      returned_(other.returned_),
      violation_(other.violation_) {}
// --- The walk's view.

bool SmallWorld::IsIdle(uint64_t index) const {
  const Process& process = processes_[index];
  return !process.is_up || process.is_frozen || (process.inbox.empty() && !process.is_closed);
}

bool SmallWorld::IsAdmitted(uint64_t index) const {
  const Process& process = processes_[index];
  return std::all_of(shards_.begin(), shards_.end(), [&](const ShardModel& shard) {
    if (!shard.is_alive || shard.has_stopped || shard.generation != process.generation) return true;
    const auto admitted = shard.admitted.find(WorkerId(index));
    return admitted != shard.admitted.end() && admitted->second >= process.incarnation;
  });
}

std::vector<Action> SmallWorld::Enabled() const {
  std::vector<Action> actions;
  if (!is_over()) {
    for (const auto& [connection, queue] : incoming_)
      actions.push_back({Kind::kHearWorker, connection.value()});
  }
  for (uint64_t p = 0; p < processes_.size(); ++p) {
    const bool must_wait = IsAboutToPush(processes_[p]) && !IsAdmitted(p);
    if (!IsIdle(p) && !must_wait) actions.push_back({Kind::kWorkerActs, p});
  }
  for (uint64_t s = 0; s < shards_.size(); ++s) {
    const ShardModel& shard = shards_[s];
    if (shard.is_alive && !shard.orders.empty()) actions.push_back({Kind::kShardActs, s});
    const bool has_word =
        !shard.answers.empty() || (!shard.is_alive && !shard.is_loss_heard && IsShardLossTold());
    if (has_word && !is_over()) actions.push_back({Kind::kHearShard, s});
  }
  if (is_over()) {
    for (uint64_t p = 0; p < processes_.size(); ++p) {
      if (processes_[p].is_frozen) actions.push_back({Kind::kThaw, p});
    }
    return actions;
  }
  if (completing_.has_value()) actions.push_back({Kind::kKept, completing_->serial});
  if (saving_.has_value()) actions.push_back({Kind::kSaved, saving_->version.value()});
  for (uint64_t s = 0; s < shards_.size(); ++s) {
    if (!shards_[s].is_alive && shards_[s].is_loss_heard)
      actions.push_back({Kind::kRestartShard, s});
  }
  // Somebody starts processes again; all of them do not stay away for ever.
  // Who went home too early, before a roll back, is needed again.
  const bool is_needed = coordinator_.status().phase <= Phase::kTraining;
  const bool is_deserted = std::none_of(
      processes_.begin(), processes_.end(),
      [&](const Process& p) { return p.is_up || (p.is_done && !is_needed) || p.is_evaluator; });
  if (actions.empty() && !is_deserted) actions.push_back({Kind::kTime, 0});
  for (uint64_t p = 0; p < processes_.size(); ++p) {
    const Process& process = processes_[p];
    // A new life may reach the coordinator before the end of the old one does, but does not try
    // that again and again.
    const bool may_start = !process.is_up && (!process.is_done || is_needed);
    const bool was_refused =
        incoming_.contains(process.connection) && process.incarnation == Incarnation();
    if (may_start && !was_refused) actions.push_back({Kind::kRestart, p});
    if (process.is_frozen) actions.push_back({Kind::kThaw, p});
    if (!process.is_up || process.is_frozen) continue;
    const bool is_about_to_push = IsAboutToPush(process);
    if (options_.worker_crashes > 0) {
      actions.push_back({Kind::kCrash, p});
      if (is_about_to_push && IsAdmitted(p)) actions.push_back({Kind::kCrashHalfway, p});
    }
    if (options_.freezes > 0 && is_about_to_push) actions.push_back({Kind::kFreeze, p});
  }
  if (options_.changes > 0) actions.push_back({Kind::kChange, 0});
  if (options_.drains > 0) actions.push_back({Kind::kDrain, 0});
  for (uint64_t s = 0; s < shards_.size() && options_.shard_crashes > 0; ++s) {
    // Rank 0 is in the coordinator's own process: it does not end in silence.
    if (shards_[s].is_alive && (s > 0 || !options_.is_shard_loss_silent))
      actions.push_back({Kind::kCrashShard, s});
  }
  if (options_.coordinator_crashes > 0) actions.push_back({Kind::kCrashCoordinator, 0});
  if (options_.suspensions > 0) actions.push_back({Kind::kSuspend, 0});
  return actions;
}

void SmallWorld::Do(const Action& action) {
  switch (action.kind) {
    case Kind::kHearWorker:
      HearWorker(action.index);
      break;
    case Kind::kWorkerActs:
      ActWorker(action.index);
      break;
    case Kind::kShardActs:
      ActShard(action.index);
      break;
    case Kind::kHearShard:
      HearShard(action.index);
      break;
    case Kind::kSaved: {
      const SaveModel save = *std::exchange(saving_, std::nullopt);
      Tell(ModelSaved{save.version, save.generation, ""});
      break;
    }
    case Kind::kTime:
      PassTime();
      break;
    case Kind::kRestart:
      Start(action.index);
      break;
    case Kind::kCrash:
      --options_.worker_crashes;
      GoDown(processes_[action.index]);
      break;
    case Kind::kCrashHalfway: {
      --options_.worker_crashes;
      Push(action.index, true);
      if (processes_[action.index].is_up) GoDown(processes_[action.index]);
      break;
    }
    case Kind::kCrashShard:
      --options_.shard_crashes;
      shards_[action.index].is_alive = false;
      shards_[action.index].is_loss_heard = false;
      shards_[action.index].orders.clear();
      break;
    case Kind::kRestartShard:
      shards_[action.index] = ShardModel{};
      shards_[action.index].answers.push_back(protocol::Register{ShardId(action.index), "unix:"});
      break;
    case Kind::kCrashCoordinator:
      --options_.coordinator_crashes;
      RestartCoordinator();
      break;
    case Kind::kSuspend:
      --options_.suspensions;
      Tell(StopAsked{"suspended", StopKind::kSuspend});
      break;
    case Kind::kKept: {
      const Checkpoint kept = *std::exchange(completing_, std::nullopt);
      disk_.push_back(kept);
      Tell(CheckpointSaved{kept, ""});
      break;
    }
    case Kind::kFreeze:
      --options_.freezes;
      processes_[action.index].is_frozen = true;
      break;
    case Kind::kThaw:
      processes_[action.index].is_frozen = false;
      break;
    case Kind::kChange:
      --options_.changes;
      options_.scheme = NextScheme(options_.scheme);
      Tell(SpecChanged{options_.workers, 1, true});
      break;
    case Kind::kDrain:
      --options_.drains;
      Tell(DrainAsked{{{"", 0}}});
      break;
  }
  if (finished_.has_value() && finished_->is_suspended) RestartCoordinator();
  Settle();
  CheckNow();
}

void SmallWorld::CheckNow() {
  if (const paceline::Status status = coordinator_.Check(); !status.ok()) Violate(Message(status));
  const ShardModel* first = nullptr;
  for (const ShardModel& shard : shards_) {
    if (!shard.is_alive) continue;
    if (first == nullptr) first = &shard;
    if (shard.generation != first->generation) continue;
    const size_t both = std::min(first->versions.size(), shard.versions.size());
    if (!std::equal(shard.versions.begin(), shard.versions.begin() + both,
                    first->versions.begin())) {
      Violate("two shards hold a version of different pushes");
    }
  }
  if (finished_.has_value() && finished_->is_success) {
    for (uint64_t epoch = 0; epoch < options_.epochs; ++epoch) {
      const std::vector<int>& counts = committed_[epoch];
      const auto committed = std::count(counts.begin(), counts.end(), 1);
      const uint64_t discarded =
          options_.on_drop == OnDrop::kDiscard ? coordinator_.epochs()[epoch].discarded : 0;
      if (static_cast<uint64_t>(committed) + discarded != options_.train_samples) {
        Violate(fmt::format("success, and epoch {} is not committed as a whole", epoch));
      }
    }
  }
  if (finished_.has_value() && !finished_->is_success && !finished_->is_suspended)
    Violate("failure: " + finished_->reason);
}

void SmallWorld::CheckEnd() {
  if (!is_over()) return Violate("nothing is enabled and the job is not over");
  for (const ShardModel& shard : shards_) {
    if (!shard.is_alive) continue;
    for (const store::PushId& push : shard.staged) {
      if (lost_.contains({push.worker, push.incarnation}))
        Violate("staged for ever, its worker lost:" + Describe(push));
    }
    if (!shard.has_stopped) Violate("a shard is not stopped");
  }
}

void SmallWorld::Violate(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

}  // namespace paceline::coordination::testing
