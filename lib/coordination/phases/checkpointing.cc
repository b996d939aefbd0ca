#include "lib/coordination/phases/checkpointing.h"

#include <algorithm>
#include <utility>

namespace paceline::coordination {

namespace {

std::string NameOf(uint64_t serial, const Generation& generation, Version version) {
  return fmt::format("{:06}-{}-{}", serial, generation, version);
}

// Everything that was asked for counts as done, everything else as never begun.
CheckpointState Cut(const JobState& job) {
  CheckpointState state;
  state.version = job.commits.decided();
  state.seed = job.options.seed;
  state.train_samples = job.train_samples;
  state.layout = *job.layout;
  state.frozen = job.frozen;
  state.committed_samples = job.decided_samples;
  state.loss = job.figures.loss;
  state.train_accuracy = job.figures.train_accuracy;
  state.nonfinite_pushes = job.nonfinite_pushes;
  state.evaluation = job.evaluation.newest;
  state.judged = job.evaluation.judged;
  state.measure = job.options.judging.measure;
  state.kept = job.evaluation.kept;
  state.damping = job.recovery.damping;
  state.course = {job.options.epochs_max, job.options.steps_max, job.options.schedule.base};
  std::map<WorkerId, uint64_t> closing;
  std::map<protocol::LeaseId, uint64_t> closed;
  for (const auto& [version, pushes] : job.pushes.closed()) {
    for (const Push& push : pushes) {
      closing[push.id.worker] += push.samples;
      for (const auto& [lease, skipped] : SkippedOf(*job.leases, push)) closed[lease] = skipped;
    }
  }
  state.leases = job.leases->Save(closed);
  for (const auto& [worker, status] : job.workers) {
    state.workers.push_back({worker, status.steps, status.samples_committed + closing[worker],
                             status.accepted, status.dropped});
  }
  state.seats = job.seats.given();
  return state;
}

// The newest complete ones, `count` at most.
std::vector<std::string> NewestNames(const CheckpointingState& checkpointing, size_t count) {
  const std::vector<Checkpoint>& complete = checkpointing.complete;
  std::vector<std::string> names;
  for (size_t i = complete.size() - std::min(count, complete.size()); i < complete.size(); ++i)
    names.push_back(complete[i].name);
  return names;
}

void GiveUp(Turn turn, const std::string& problem) {
  CheckpointingState& checkpointing = turn.job.checkpointing;
  const Checkpoint& checkpoint = checkpointing.attempt->checkpoint;
  checkpointing.problem = fmt::format("checkpoint {}: {}", checkpoint.name, problem);
  turn.effects.push_back(
      CheckpointEvent{checkpoint.name, checkpoint.state.version, checkpointing.problem});
  checkpointing.attempt.reset();
  checkpointing.cost.Ended(turn.now);
}

}  // namespace

bool IsCheckpointDue(Turn turn) {
  const JobState& job = turn.job;
  if (!job.options.checkpoint.has_value() || job.phase != Phase::kTraining) return false;
  const CheckpointingState& checkpointing = job.checkpointing;
  if (checkpointing.attempt.has_value()) return false;
  return !checkpointing.started.has_value() || turn.now - *checkpointing.started >= Period(job);
}

Duration Period(const JobState& job) {
  const CheckpointOptions& options = *job.options.checkpoint;
  if (!options.cost_max.has_value()) return options.period;
  return std::max(options.period,
                  Seconds(ToSeconds(job.checkpointing.cost.last()) / *options.cost_max));
}

void StartCheckpoint(Turn turn) {
  JobState& job = turn.job;
  CheckpointingState& checkpointing = job.checkpointing;
  const std::vector<std::string> complete =
      NewestNames(checkpointing, checkpointing.complete.size());
  Checkpoint checkpoint;
  checkpoint.serial = ++checkpointing.serial;
  checkpoint.generation = job.options.generation;
  checkpoint.state = Cut(job);
  checkpoint.name = job.options.checkpoint->folder +
                    NameOf(checkpoint.serial, checkpoint.generation, checkpoint.state.version);
  checkpoint.slices.resize(job.options.shards);
  checkpointing.started = checkpoint.cut = turn.now;
  checkpointing.cost.Began(turn.now);
  protocol::SaveSlice order{checkpoint.name, checkpoint.state.version, complete};
  order.keep.push_back(checkpoint.name);
  if (job.evaluation.kept.has_value()) order.kept = job.evaluation.kept->version;
  turn.effects.push_back(CutCheckpoint{checkpoint.name});
  checkpointing.attempt = CheckpointingState::Attempt{
      std::move(checkpoint), {}, turn.now + job.options.checkpoint->timeout, false};
  turn.Order(std::move(order));
}

void OnSliceSaved(Turn turn, ShardId shard, const protocol::SliceSaved& saved) {
  CheckpointingState& checkpointing = turn.job.checkpointing;
  auto& attempt = checkpointing.attempt;
  if (!attempt.has_value() || attempt->checkpoint.name != saved.checkpoint) return;
  if (!saved.problem.empty())
    return GiveUp(turn, fmt::format("shard {}: {}", shard, saved.problem));
  attempt->checkpoint.slices[shard.value()] = saved.digest;
  attempt->saved.insert(shard);
  if (attempt->saved.size() < turn.job.options.shards || attempt->is_completing) return;
  attempt->is_completing = true;
  attempt->deadline = turn.now + turn.job.options.checkpoint->timeout;
  std::vector<std::string> keep =
      NewestNames(checkpointing, std::max<size_t>(turn.job.options.checkpoint->keep, 1) - 1);
  keep.push_back(attempt->checkpoint.name);
  checkpointing.completing = attempt->checkpoint.name;
  checkpointing.is_forsaken = false;
  turn.effects.push_back(CompleteCheckpoint{attempt->checkpoint, std::move(keep)});
}

// One that was given up, or is of a generation that is over, is as good as any once it is complete:
// its version was published, or is rolled back to as a whole. Unless the job went back beyond it.
void OnCheckpointSaved(Turn turn, const CheckpointSaved& saved) {
  CheckpointingState& checkpointing = turn.job.checkpointing;
  auto& attempt = checkpointing.attempt;
  if (checkpointing.completing == saved.checkpoint.name) {
    checkpointing.completing.clear();
    if (std::exchange(checkpointing.is_forsaken, false)) {
      if (saved.problem.empty())
        turn.effects.push_back(ForsakeCheckpoints{{saved.checkpoint.name}});
      return;
    }
  }
  const bool is_awaited = attempt.has_value() && attempt->checkpoint.name == saved.checkpoint.name;
  if (!saved.problem.empty()) {
    if (is_awaited) GiveUp(turn, saved.problem);
    return;
  }
  if (is_awaited) {
    attempt.reset();
    checkpointing.cost.Ended(turn.now);
  }
  std::vector<Checkpoint>& complete = checkpointing.complete;
  complete.push_back(saved.checkpoint);
  const size_t keep = std::max<size_t>(turn.job.options.checkpoint->keep, 1);
  if (complete.size() > keep) complete.erase(complete.begin(), complete.end() - keep);
  checkpointing.problem.clear();
  turn.effects.push_back(
      CheckpointEvent{saved.checkpoint.name, saved.checkpoint.state.version, ""});
}

void GiveUpLateCheckpoint(Turn turn) {
  const CheckpointingState& checkpointing = turn.job.checkpointing;
  if (!checkpointing.attempt.has_value() || turn.now < checkpointing.attempt->deadline) return;
  std::string late;
  for (uint64_t rank = 0; rank < turn.job.options.shards; ++rank) {
    if (checkpointing.attempt->saved.contains(ShardId(rank))) continue;
    late += (late.empty() ? "shards " : ", ") + ToString(ShardId(rank));
  }
  if (late.empty()) late = "the coordinator's part";
  GiveUp(turn, fmt::format("nothing written for {:g} s: {}",
                           ToSeconds(turn.job.options.checkpoint->timeout), late));
}

}  // namespace paceline::coordination
