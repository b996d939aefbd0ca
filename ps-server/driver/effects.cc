// What the driver does for each effect.
#include <utility>

#include <fmt/format.h>

#include "lib/coordination/words.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/log.h"
#include "ps-server/driver/driver.h"

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

void Driver::Do(const coordination::ConfigureShards& effect) {
  const coordination::CoordinatorOptions& job = options_.coordination;
  layout_ = effect.layout;
  const std::vector<store::Slice> slices = store::SliceOverShards(layout_, job.shards);
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
    connection->Send(protocol::Configure{.generation = job.generation,
                                         .layout = layout_,
                                         .slice = slices[shard.value()],
                                         .optimizer = options_.optimizer,
                                         .slots_per_worker = job.slots_per_worker,
                                         .workers_max = job.workers_max});
  }
  Log(LogLevel::kInfo, "shards configured",
      {{"shards", std::to_string(job.shards)}, {"bytes", std::to_string(layout_.total_bytes())}});
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
  Log(LogLevel::kInfo, "evaluated",
      {{"version", fmt::format("{}", effect.result.version)},
       {"loss", fmt::format("{:.6g}", effect.result.loss)},
       {"accuracy", fmt::format("{:.6g}", effect.result.accuracy)}});
}

void Driver::Do(const coordination::WorkerEvent& effect) {
  metrics_->WorkerHad(effect);
  const bool is_routine = effect.kind == coordination::WorkerEventKind::kJoined;
  Log(is_routine ? LogLevel::kInfo : LogLevel::kWarning, "worker event",
      {{"kind", ToString(effect.kind)},
       {"worker", fmt::format("{}", effect.worker)},
       {"incarnation", fmt::format("{}", effect.incarnation)},
       {"detail", effect.detail}});
}

void Driver::Do(const coordination::TrainingOpened& effect) {
  policy_ = options_.make_policy(effect.workers);
  meter_.Opened(SteadyNow());
  Log(effect.workers < effect.wanted ? LogLevel::kWarning : LogLevel::kInfo, "training opened",
      {{"workers", std::to_string(effect.workers)}, {"wanted", std::to_string(effect.wanted)}});
}

void Driver::Do(const coordination::SaveModel& effect) {
  meter_.Ended(SteadyNow());
  if (saver_.joinable()) saver_.join();  // An earlier attempt; it has posted its answer.
  saver_ = std::thread([this, version = effect.version, addresses = addresses_, layout = layout_] {
    const auto save = [&]() -> Status {
      PACELINE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                                options_.fetch(addresses, version));
      return options_.save(layout, bytes);
    };
    // Not by this thread itself: what comes next may have to wait for its end.
    Post(coordination::ModelSaved{version, Message(save())}, By::kTimer);
  });
}

void Driver::Do(const coordination::Finished& effect) {
  meter_.Ended(SteadyNow());
  Log(effect.is_success ? LogLevel::kInfo : LogLevel::kError, "job finished",
      {{"success", effect.is_success ? "true" : "false"}, {"reason", effect.reason}});
  Measure();
  {
    std::lock_guard lock(mutex_);
    finished_ = effect;
  }
  finished_wake_.notify_all();
}

}  // namespace paceline::ps
