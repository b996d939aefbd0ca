// What the driver does for each effect.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/coordination/words.h"
#include "lib/sync/contract/words.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/log.h"
#include "ps-server/coordinator/driver.h"

namespace paceline::ps {

using telemetry::Log;
using telemetry::LogLevel;
using telemetry::SteadyNow;

void Driver::Do(const coordination::Observe& effect) { TellPolicy(effect.event); }

void Driver::Do(const coordination::SendWorker& effect) {
  std::shared_ptr<WorkerConnection> connection;
  {
    std::lock_guard lock(mutex_);
    const auto found = workers_.find(effect.connection);
    if (found == workers_.end()) return;  // Its WorkerGone is on the way.
    connection = found->second;
  }
  if (std::holds_alternative<protocol::Shards>(effect.order)) {
    connection->Send(protocol::Shards{addresses_});
    return;
  }
  connection->Send(effect.order);
  if (const auto* released = std::get_if<protocol::Released>(&effect.order)) {
    metrics_->Released(released->version, SteadyNow());
  }
}

void Driver::Do(const coordination::CloseWorker& effect) {
  std::lock_guard lock(mutex_);
  if (const auto found = workers_.find(effect.connection); found != workers_.end())
    found->second->Close();
}

void Driver::Do(const coordination::SendShard& effect) {
  std::shared_ptr<ShardConnection> connection;
  {
    std::lock_guard lock(mutex_);
    const auto found = shards_.find(effect.shard);
    if (found == shards_.end()) return;  // Its ShardGone is on the way.
    connection = found->second;
  }
  if (const auto* commit = std::get_if<protocol::CommitAll>(&effect.order)) {
    metrics_->CommitSent(commit->commit.version, arrived_, SteadyNow());
  }
  connection->Send(effect.order);
}

void Driver::Do(const coordination::CloseShard& effect) {
  Log(LogLevel::kWarning, "shard lost",
      {{"shard", fmt::format("{}", effect.shard)}, {"reason", effect.reason}});
  std::lock_guard lock(mutex_);
  const auto found = shards_.find(effect.shard);
  if (found == shards_.end()) return;
  found->second->Close();
  shards_.erase(found);
}

void Driver::Do(const coordination::ConfigureShards& effect) {
  const coordination::CoordinatorOptions& job = options_.coordination;
  layout_ = effect.layout;
  if (!room_problem_) {
    room_problem_ = options_.reserve == nullptr ? "" : options_.reserve(layout_);
    if (!room_problem_->empty())
      Log(LogLevel::kWarning, "the final model may find no room", {{"reason", *room_problem_}});
  }
  const std::vector<store::Slice> slices = store::SliceOverShards(layout_, job.shards);
  const auto restore = [&](ShardId shard) -> std::optional<protocol::RestoreSlice> {
    if (!effect.restore) return std::nullopt;
    return protocol::RestoreSlice{effect.restore->checkpoint, effect.restore->version,
                                  effect.restore->slices.at(shard.value()), effect.restore->kept};
  };
  std::map<ShardId, std::shared_ptr<ShardConnection>> shards;
  {
    std::lock_guard lock(mutex_);
    shards = shards_;
    addresses_.clear();
    for (const auto& [shard, address] : shard_addresses_) {
      addresses_.push_back({shard, address, slices[shard.value()]});
    }
  }
  for (const auto& [shard, connection] : shards) {
    connection->Send(protocol::Configure{.generation = effect.generation,
                                         .layout = layout_,
                                         .slice = slices[shard.value()],
                                         .optimizer = options_.optimizer,
                                         .slots_per_worker = job.slots_per_worker,
                                         .workers_max = job.workers_max,
                                         .restore = restore(shard),
                                         .parameter_groups = job.parameter_groups,
                                         .average_decay = options_.average_decay});
  }
  std::vector<std::string> own;
  for (const protocol::FrozenTensor& tensor : effect.frozen) own.push_back(tensor.name);
  idle_patterns_ = store::IdlePatterns(layout_, job.parameter_groups, own);
  for (const std::string& pattern : idle_patterns_) {
    Log(LogLevel::kWarning, "a parameter group's pattern fits no parameter of the model",
        {{"pattern", pattern}});
  }
  Log(LogLevel::kInfo, "shards configured",
      {{"shards", std::to_string(job.shards)},
       {"bytes", std::to_string(layout_.total_bytes())},
       {"generation", fmt::format("{}", effect.generation)},
       {"checkpoint", effect.restore ? effect.restore->checkpoint : "none"}});
}

void Driver::Do(const coordination::VersionPublished& effect) {
  const Time now = SteadyNow();
  meter_.Published(effect.version, effect.committed_samples, now);
  metrics_->Published(effect, now);
}

void Driver::Do(const coordination::EpochCompleted& effect) {
  metrics_->EpochCompleted();
  Log(LogLevel::kInfo, "epoch completed", {{"epoch", std::to_string(effect.epoch)}});
}

void Driver::Do(const coordination::EvaluationDone& effect) {
  metrics_->Evaluated(effect.result);
  const auto& accuracy = effect.result.accuracy;
  std::string metrics;
  for (const auto& [name, value] : effect.result.metrics)
    metrics += fmt::format("{}{}={:.6g}", metrics.empty() ? "" : " ", name, value);
  Log(LogLevel::kInfo, "evaluated",
      {{"version", fmt::format("{}", effect.result.version)},
       {"loss", fmt::format("{:.6g}", effect.result.loss)},
       {"accuracy", accuracy ? fmt::format("{:.6g}", *accuracy) : "unknown"},
       {"of", effect.result.accuracy_from},
       {"metrics", metrics},
       {"weights", options_.average_decay ? "averaged" : "as trained"},
       {"best", effect.is_best ? "yes" : "no"}});
  if (effect.cuts_rate)
    Log(LogLevel::kInfo, "the learning rate is cut: evaluations have found nothing better", {});
}

void Driver::Do(const coordination::WorkerEvent& effect) {
  metrics_->WorkerHad(effect);
  const bool is_routine = effect.kind == coordination::WorkerEventKind::kJoined;
  Log(is_routine ? LogLevel::kInfo : LogLevel::kWarning, "worker event",
      {{"kind", ToString(effect.kind)},
       {"worker", ToString(effect.seat)},
       {"incarnation", fmt::format("{}", effect.incarnation)},
       {"detail", effect.detail}});
}

void Driver::Do(const coordination::SamplePoisoned& effect) {
  metrics_->SampleWasPoisoned();
  Log(LogLevel::kWarning,
      "a sample is discarded: it made two workers ill, or ended them, and is left out from now on",
      {{"sample", effect.sample.is_drawn ? "as the script's sampler has drawn it"
                                         : std::to_string(effect.sample.sample)},
       {"epoch", std::to_string(effect.sample.epoch)},
       {"position", std::to_string(effect.sample.position)}});
}

void Driver::Do(const coordination::TrainingOpened& effect) {
  policy_ =
      options_.make_policy(std::max<uint32_t>(effect.workers, 1), effect.version, effect.policy);
  meter_.Opened(effect.version, effect.committed_samples, SteadyNow());
  metrics_->Opened(effect.version);
  Log(effect.workers < effect.wanted ? LogLevel::kWarning : LogLevel::kInfo, "training opened",
      {{"workers", std::to_string(effect.workers)},
       {"wanted", std::to_string(effect.wanted)},
       {"version", fmt::format("{}", effect.version)}});
}

void Driver::Do(const coordination::PolicyChanged& effect) {
  // What it has learnt goes on, as far as it is of use to the next one.
  policy_ =
      options_.make_policy(std::max<uint32_t>(effect.workers, 1), effect.version, policy_->Save());
  Log(LogLevel::kInfo, "policy changed",
      {{"version", fmt::format("{}", effect.version)}, {"workers", effect.workers}});
}

void Driver::Do(const coordination::PolicyChose& effect) {
  const sync::Chosen& chosen = effect.chosen;
  const bool is_measured = chosen.reason == sync::ChoiceReason::kMeasured;
  Log(chosen.reason == sync::ChoiceReason::kLossRose ? LogLevel::kWarning : LogLevel::kInfo,
      is_measured ? "scheme Auto measured its choice" : "scheme Auto chose",
      {{"version", fmt::format("{}", effect.version)},
       {"way", std::string(sync::ToString(chosen.way))},
       {"pushes", uint64_t{chosen.pushes}},
       {"reason", std::string(sync::ToString(chosen.reason))},
       {is_measured ? "gain" : "gain_expected", chosen.gain}});
}

void Driver::Do(const coordination::SaveModel& effect) {
  meter_.Ended(SteadyNow());
  if (saver_.joinable()) saver_.join();  // An earlier attempt; it has posted its answer.
  saver_ = std::thread([this, effect, addresses = addresses_, layout = layout_] {
    const bool is_here = model_.has_value() && model_->generation == effect.generation &&
                         model_->version == effect.version;
    Status status = OkStatus();
    if (!is_here) {
      StatusOr<std::vector<std::byte>> bytes =
          options_.fetch(effect.generation, addresses, effect.version);
      status = bytes.status();
      if (status.ok()) model_ = {effect.generation, effect.version, *std::move(bytes)};
    }
    // Not by this thread itself: what comes next may have to wait for its end.
    const auto post = [this](coordination::Fact fact) { Post(std::move(fact), By::kTimer); };
    const bool is_fetched = status.ok();
    if (is_fetched) {
      if (!is_here) post(coordination::ModelFetched{effect.version, effect.generation});
      status = options_.save(layout, model_->bytes, effect.frozen);
      if (status.ok()) model_.reset();
    }
    post(coordination::ModelSaved{effect.version, effect.generation, Message(status), !is_fetched});
  });
}

void Driver::Do(const coordination::ModelNotSaved& effect) {
  Log(LogLevel::kError, "final model not written, kept to try again",
      {{"reason", effect.problem}, {"again_in_seconds", ToSeconds(effect.pause)}});
}

void Driver::Do(const coordination::CutCheckpoint& effect) {
  cut_ = {effect.name, policy_ == nullptr ? "" : policy_->Save()};
}

void Driver::Do(const coordination::CompleteCheckpoint& effect) {
  if (!background_) background_.emplace();
  coordination::Checkpoint checkpoint = effect.checkpoint;
  if (cut_.checkpoint == checkpoint.name) checkpoint.state.policy = cut_.saved;
  background_->Do([this, checkpoint = std::move(checkpoint), keep = effect.keep] {
    const Status completed = options_.complete_checkpoint == nullptr
                                 ? FailedPrecondition("there is no place for checkpoints")
                                 : options_.complete_checkpoint(checkpoint, keep);
    Post(coordination::CheckpointSaved{checkpoint, Message(completed)}, By::kTimer);
  });
}

void Driver::Do(const coordination::ForsakeCheckpoints& effect) {
  for (const std::string& name : effect.names) {
    const Status forsaken = options_.forsake_checkpoint == nullptr
                                ? FailedPrecondition("there is no place for checkpoints")
                                : options_.forsake_checkpoint(name);
    if (forsaken.ok()) {
      Log(LogLevel::kWarning, "checkpoint is given up", {{"name", name}});
    } else {
      Log(LogLevel::kError, "checkpoint is given up, but stays",
          {{"name", name}, {"reason", Message(forsaken)}});
    }
  }
}

void Driver::Do(const coordination::CheckpointEvent& effect) {
  metrics_->CheckpointEnded(effect.version, effect.problem.empty());
  if (effect.problem.empty()) {
    checkpoint_completed_ = telemetry::UtcText();
    Log(LogLevel::kInfo, "checkpoint completed",
        {{"name", effect.name}, {"version", fmt::format("{}", effect.version)}});
  } else {
    Log(LogLevel::kError, "checkpoint failed", {{"reason", effect.problem}});
  }
}

void Driver::Do(const coordination::RolledBack& effect) {
  policy_.reset();
  metrics_->RolledBack();
  Log(LogLevel::kWarning, "rolled back",
      {{"generation", fmt::format("{}", effect.generation)},
       {"reason", effect.reason},
       {"steps_lost", effect.steps_lost},
       {"seconds_lost", ToSeconds(effect.training_lost)}});
}

void Driver::Do(const coordination::OptimizerReset& effect) {
  const bool is_delta = effect.kind == PushKind::kDelta;
  Log(LogLevel::kInfo, "optimizer state is reset",
      {{"version", fmt::format("{}", effect.version)},
       {"reason", is_delta ? "pushes are deltas now" : "pushes are gradients now"}});
}

void Driver::Do(const coordination::Finished& effect) {
  meter_.Ended(SteadyNow());
  if (effect.is_suspended) {
    Log(LogLevel::kInfo, "job suspended", {{"reason", effect.reason}});
  } else {
    Log(effect.is_success ? LogLevel::kInfo : LogLevel::kError, "job finished",
        {{"success", effect.is_success ? "true" : "false"}, {"reason", effect.reason}});
  }
  Measure();
  metrics_->Finished();
  {
    std::lock_guard lock(mutex_);
    finished_ = effect;
  }
  finished_wake_.notify_all();
}

}  // namespace paceline::ps
