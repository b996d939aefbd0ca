#include "lib/coordination/phases/reporting.h"

#include "lib/coordination/phases/changing.h"
#include "lib/coordination/phases/checkpointing.h"
#include "lib/coordination/phases/evaluating.h"
#include "lib/coordination/phases/startup.h"
#include "lib/coordination/phases/watching.h"

namespace paceline::coordination {

Status Report(const JobState& job) {
  Status status;
  status.phase = job.phase;
  status.version = job.commits.published();
  status.committed_samples = job.committed_samples;
  status.train_samples = job.train_samples;
  status.epoch = job.leases.has_value() ? job.leases->oldest_open() : 0;
  status.loss = job.figures.loss;
  status.train_accuracy = job.figures.train_accuracy;
  const EvaluationState& evaluation = job.evaluation;
  const bool is_kept_the_model =
      evaluation.kept.has_value() && job.finishing.saved == evaluation.kept->version;
  status.evaluation = is_kept_the_model ? evaluation.kept : evaluation.newest;
  status.judged = job.evaluation.judged;
  if (job.evaluation.kept.has_value()) status.kept = job.evaluation.kept->version;
  status.nonfinite_pushes = job.nonfinite_pushes;
  for (const auto& [worker, known] : job.workers) {
    WorkerStatus& one = status.workers.emplace_back(known);
    one.seat = job.seats.SeatOf(worker);
    one.has_ended = job.ended.contains(worker);
    one.is_member = job.membership.FindWorker(worker) != nullptr;
    one.is_draining = job.change.draining.contains(worker);
    if (const auto times = job.recovery.expulsions.find(worker);
        times != job.recovery.expulsions.end())
      one.expulsions = times->second;
    if (const auto found = job.recovery.quarantines.find(worker);
        found != job.recovery.quarantines.end())
      one.quarantine = found->second;
    if (OwesPush(job, worker)) ++status.waiting_for;
  }
  if (job.phase == Phase::kStartup) status.startup_waits_for = StartupWaitsFor(job);
  status.generation = job.options.generation;
  status.roll_backs = job.recovery.roll_backs;
  status.last_roll_back = job.recovery.last;
  status.lost = job.recovery.lost;
  status.last_lost = job.recovery.last_lost;
  status.rolled_back_from = job.recovery.last_from;
  status.rolled_back_to = job.recovery.last_to;
  if (job.recovery.from.has_value()) status.restored_from = job.recovery.from->state.version;
  if (!job.checkpointing.complete.empty())
    status.checkpoint_version = job.checkpointing.complete.back().state.version;
  status.checkpoint_cost = job.checkpointing.cost.last();
  if (job.options.checkpoint.has_value()) status.checkpoint_period = Period(job);
  status.checkpoint_problem = job.checkpointing.problem;
  if (job.frozen.has_value()) status.frozen_parameters = job.frozen->size();
  status.model_problem = job.finishing.save_problem;
  const bool is_stopping = job.phase == Phase::kFinishing && !job.finishing.is_suspending;
  if (is_stopping || job.finishing.saved.has_value()) status.stop_reason = job.finishing.reason;
  status.have_scripts_ended = job.finishing.have_scripts_ended;
  status.model_version = job.finishing.saved;
  status.is_evaluator_gone = job.recovery.evaluator_gone.has_value();
  status.target_problem = ProblemsOfJudging(job);
  status.poisoned = job.recovery.poisoned;
  if (job.leases.has_value()) status.skipped_samples = job.leases->skipped();
  status.lost_shards = LostShards(job);
  status.shard_waits = ShardWaits(job);
  status.is_changing_policy = job.change.quiesced.has_value();
  status.outcome = job.outcome;
  status.is_success = job.is_success;
  status.is_suspended = job.is_suspended;
  return status;
}

std::string DescribeJob(const JobState& job) {
  std::string text = fmt::format("phase {} asking {} {}|", static_cast<int>(job.phase),
                                 job.is_asking, job.later.size());
  text += job.membership.Describe() + "|" + job.pushes.Describe() + "|" + job.commits.Describe();
  if (job.leases.has_value()) text += "|" + job.leases->Describe();
  const StartupState& startup = job.startup;
  text += fmt::format("|startup {}{}{}{} {}", startup.is_configuring, startup.has_announced,
                      startup.is_opening, startup.is_schedule_over,
                      startup.filler.value_or(ConnectionId()));
  for (const ShardState& shard : startup.shards) {
    text += fmt::format(" {}{}{}", shard.is_registered, shard.is_configured, shard.is_opened);
    if (shard.filled.has_value())
      text += fmt::format("{}{}", shard.filled->first, shard.filled->second);
  }
  text += fmt::format("|{}{}{} {}", startup.is_recovery, startup.is_gathered, startup.is_first_kept,
                      startup.needed.value_or(0));
  const CheckpointingState& checkpointing = job.checkpointing;
  if (const auto& attempt = checkpointing.attempt) {
    text += fmt::format("|keeping {} {} {}", attempt->checkpoint.state.version,
                        attempt->saved.size(), attempt->is_completing);
  }
  for (const Checkpoint& one : checkpointing.complete)
    text += fmt::format("|kept {}", one.state.version);
  text += fmt::format("|back {} {} {}", job.recovery.in_vain, job.recovery.stop.has_value(),
                      job.recovery.unrestored);
  const EvaluationState& evaluation = job.evaluation;
  text += fmt::format("|evaluation {} {} {}", evaluation.pinned.value_or(Version()),
                      evaluation.asked.value_or(Version()),
                      evaluation.newest.has_value() ? evaluation.newest->version : Version());
  const Judged& judged = evaluation.judged;
  text += fmt::format(" judged {} {} {} {} kept {}", judged.best ? judged.best->version : Version(),
                      judged.without_better, judged.without_better_or_cut, judged.cuts,
                      evaluation.kept ? evaluation.kept->version : Version());
  const FinishingState& finishing = job.finishing;
  text += fmt::format("|finishing {} {} {}{}{}|told", static_cast<int>(finishing.stage),
                      finishing.target_met.has_value(), !finishing.not_evaluated.empty(),
                      finishing.is_suspending, finishing.is_kept);
  text += fmt::format(" model {} {}", finishing.is_fetched, finishing.last_try.has_value());
  for (const WorkerId worker : job.participants) text += fmt::format(" {}", worker);
  for (const WorkerId worker : job.ended) text += fmt::format(" ended {}", worker);
  text += "|starved" + job.starved.Describe();
  text += fmt::format("|saved {} {} {} {}|", finishing.saved.value_or(Version()),
                      finishing.evaluators_lost, finishing.is_unjudged,
                      job.recovery.evaluator_gone.has_value());
  text += fmt::format("|change {}", job.change.quiesced.has_value());
  for (const WorkerId worker : job.change.outstanding) text += fmt::format(" late {}", worker);
  for (const WorkerId worker : job.change.draining) text += fmt::format(" draining {}", worker);
  for (const auto& [worker, health] : job.health) {
    if (health.ill_in_a_row == 0) continue;  // Of a well one, only when its next ill push counts.
    text += fmt::format(" ill {} {} {}{}", worker, health.ill_in_a_row, health.spoilt,
                        health.is_copy_ill ? "c" : "");
  }
  for (const auto& [worker, quarantine] : job.recovery.quarantines)
    text += fmt::format(" expelled {} {}", worker, quarantine.attempt.value_or(0));
  text += fmt::format(" not-finite {}", job.recovery.non_finite_in_a_row);
  return text + "|" + job.outcome;
}

}  // namespace paceline::coordination
