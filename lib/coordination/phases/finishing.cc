#include "lib/coordination/phases/finishing.h"

#include <algorithm>
#include <utility>

#include "lib/coordination/phases/asking.h"
#include "lib/coordination/phases/checkpointing.h"
#include "lib/coordination/phases/evaluating.h"

namespace paceline::coordination {

using protocol::Role;
using Stage = FinishingState::Stage;

namespace {

enum class End { kSuccess, kFailure, kSuspension };

constexpr uint32_t kFetchesMax = 5;
constexpr Duration kFetchPause = Seconds(2);
constexpr Duration kSavePauseMin = Seconds(1);
constexpr Duration kSavePauseMax = Seconds(60);

void SendHome(Turn turn, const Session& session, const std::string& reason) {
  // Whoever is told nothing comes back.
  if (!turn.job.finishing.is_suspending) turn.Send(session.connection, protocol::Finish{reason});
  turn.effects.push_back(CloseWorker{session.connection});
  turn.job.membership.Remove(session.connection);
}

void Conclude(Turn turn, End end, const std::string& reason) {
  JobState& job = turn.job;
  job.phase = Phase::kOver;
  job.outcome = reason;
  job.is_success = end == End::kSuccess;
  job.is_suspended = job.finishing.is_suspending = end == End::kSuspension;
  job.is_asking = false;
  job.later.clear();
  for (const Session& session : job.membership.all()) SendHome(turn, session, reason);
  for (uint64_t rank = 0; rank < job.options.shards; ++rank) {
    if (job.startup.shards[rank].is_registered && !job.is_suspended)
      turn.effects.push_back(SendShard{ShardId(rank), protocol::StopShard{}});
  }
  const bool is_unjudged = end == End::kFailure && job.finishing.is_unjudged;
  turn.effects.push_back(Finished{job.is_success, reason, job.is_suspended, is_unjudged});
}

// What is judged last.
Version LastVersion(const JobState& job) {
  return job.finishing.target_met.value_or(job.commits.published());
}

// What the model is.
Version FinalVersion(const JobState& job) {
  const auto& kept = job.evaluation.kept;
  if (!job.finishing.target_met.has_value() && kept.has_value()) return kept->version;
  return LastVersion(job);
}

// Of a model that is written: "; the model is version 120, the best: Loss 0.31".
std::string KeptInWords(const JobState& job) {
  const JudgingOptions& judging = job.options.judging;
  const Judged& judged = job.evaluation.judged;
  const std::optional<Best> kept = BestKept(job);
  if (!judging.keeps_best || job.finishing.target_met.has_value()) return "";
  const std::string& metric = judging.measure.metric;
  std::string words = fmt::format("; the model is {}", *job.finishing.saved);
  if (!kept.has_value()) {
    words += ", the last: no version could be judged";
  } else if (kept->version == job.finishing.saved) {
    words += fmt::format(", the best: {} {:.6g}", metric, kept->value);
  } else {
    words += fmt::format("; the best, {} of {} {:.6g}, cannot be saved: {}", kept->version, metric,
                         kept->value, job.finishing.not_saved);
  }
  const bool was_better =
      judged.best.has_value() && (!kept.has_value() || judged.best->version != kept->version);
  if (was_better) {
    words += fmt::format("; {} was better, {:.6g}, and is lost with what the shards had before",
                         judged.best->version, judged.best->value);
  }
  return words;
}

std::string AverageInWords(const JobState& job) {
  return job.options.averages_weights ? "; the model is the moving average of the weights" : "";
}

// Of the attempts to write the model: doubles from the first failure on.
Duration PauseAfter(uint32_t failures) {
  Duration pause = kSavePauseMin;
  for (uint32_t i = 1; i < failures && pause < kSavePauseMax; ++i) pause *= 2;
  return std::min(pause, kSavePauseMax);
}

// The disk failed, not the model: it stays where it is.
void TryToSaveLater(Turn turn, const std::string& problem) {
  FinishingState& finishing = turn.job.finishing;
  finishing.save_problem = problem;
  if (finishing.last_try.has_value()) {
    return Suspend(
        turn, fmt::format("{}; the final model is not written: {}", *finishing.last_try, problem));
  }
  const Duration pause = PauseAfter(++finishing.saves_failed);
  finishing.fetch_again = turn.now + pause;
  turn.effects.push_back(ModelNotSaved{problem, pause});
}

std::string OutcomeInWords(const JobState& job) {
  const FinishingState& finishing = job.finishing;
  const auto& target = job.options.target;
  const auto& newest = job.evaluation.newest;
  if (finishing.target_met.has_value()) {
    std::string words = fmt::format("target {} reached: {} at {}", TargetInWords(*target),
                                    finishing.target_value, *finishing.target_met);
    if (!finishing.not_saved.empty()) {
      words += fmt::format("; that version cannot be saved: {}; the model is {}",
                           finishing.not_saved, *finishing.saved);
    }
    return words + AverageInWords(job);
  }
  std::string words = finishing.reason;
  const bool is_final_evaluated = newest.has_value() && newest->version == LastVersion(job);
  if (target.has_value() && is_final_evaluated) {
    const bool is_known = ValueOf(target->measure, *newest).has_value();
    const std::string why = WhyUnjudged(job).value_or("");
    if (is_known) {
      words += fmt::format("; target {} not reached: {}", TargetInWords(*target),
                           TargetValueInWords(*target, *newest));
    } else if (!finishing.is_unjudged) {
      words += "; " + why;
    }
  }
  if (!finishing.not_evaluated.empty() && !finishing.is_unjudged) {
    words += fmt::format("; {} is not evaluated: {}", LastVersion(job), finishing.not_evaluated);
  }
  // Before it is written another one may be the best yet.
  if (finishing.saved.has_value()) words += KeptInWords(job) + AverageInWords(job);
  return words;
}

// True when nothing that could still change a version is left.
bool IsQuiet(Turn turn) {
  JobState& job = turn.job;
  if (job.is_asking || !job.later.empty()) return false;
  if (!job.commits.is_idle()) return false;  // Shards answer, or are lost.
  if (job.pushes.is_idle()) return true;
  if (turn.now < job.finishing.quiesced) return false;
  for (const Push& push : job.pushes.staged()) turn.Order(protocol::DropOrder{push.id});
  job.pushes.ForgetUnpublished();
  return true;
}

// True when there is a checkpoint of the last version, or none can be made.
bool IsKept(Turn turn) {
  JobState& job = turn.job;
  if (!job.options.checkpoint.has_value()) return true;
  if (job.checkpointing.attempt.has_value()) return false;
  if (job.finishing.is_kept) return true;
  // The model is about to be written, and these are of no use after it.
  if (job.options.checkpoint->cost_max.has_value() && !job.finishing.is_suspending) return true;
  job.finishing.is_kept = true;
  const std::vector<Checkpoint>& complete = job.checkpointing.complete;
  const bool is_there = !complete.empty() &&
                        complete.back().state.version == job.commits.published() &&
                        (complete.back().generation == job.options.generation ||
                         (job.recovery.from && job.recovery.from->name == complete.back().name));
  if (is_there) return true;
  StartCheckpoint(turn);
  return false;
}

// True when the final version has been evaluated, or nobody is there to do it.
bool IsEvaluated(Turn turn) {
  JobState& job = turn.job;
  FinishingState& finishing = job.finishing;
  if (finishing.target_met.has_value()) return true;
  if (job.evaluation.newest.has_value() && job.evaluation.newest->version == LastVersion(job))
    return true;
  if (!finishing.not_evaluated.empty()) return true;
  if (job.membership.evaluator() != nullptr) {
    finishing.evaluator_awaited.reset();
    AskEvaluator(turn, LastVersion(job));
    return false;
  }
  if (!job.options.has_evaluator) return true;
  if (job.recovery.evaluator_gone.has_value()) {
    finishing.not_evaluated = *job.recovery.evaluator_gone;
    return true;
  }
  if (!finishing.evaluator_awaited.has_value()) {
    finishing.evaluator_awaited = turn.now + job.options.evaluation_timeout;
  }
  if (turn.now < *finishing.evaluator_awaited) return false;
  finishing.not_evaluated =
      fmt::format("no evaluator within {:g} s", ToSeconds(job.options.evaluation_timeout));
  return true;
}

}  // namespace

std::optional<std::string> StopReason(const JobState& job) {
  if (job.leases->is_complete())
    return fmt::format("stopped after {} epochs", job.leases->oldest_open());
  const uint64_t steps = job.commits.published().value();
  if (job.options.steps_max > 0 && steps >= job.options.steps_max)
    return fmt::format("stopped after {} steps", steps);
  return std::nullopt;
}

void FailWithoutSteps(Turn turn, const std::string& what) {
  Fail(turn,
       what +
           " had no step: each of its batches was skipped or empty, or had no w.step(loss): one "
           "step for each batch");
}

void BeginFinishing(Turn turn, const std::string& reason) {
  JobState& job = turn.job;
  if (job.phase != Phase::kTraining) return;
  // Its scripts have learnt from nothing, whatever they have done with their batches.
  if (job.committed_samples > 0 && job.leases->skipped() == job.committed_samples)
    return FailWithoutSteps(turn, "the job");
  job.phase = Phase::kFinishing;
  job.change.quiesced.reset();
  job.finishing.reason = reason;
  // The policy is given a little less than we wait, so that its own deadline comes first.
  const Time deadline = turn.now + job.options.quiesce_timeout;
  job.finishing.quiesced = deadline + job.options.heartbeat_period;
  Ask(turn, sync::Quiesce{sync::QuiesceReason::kStop, deadline});
}

void FinishIfAllScriptsEnded(Turn turn) {
  JobState& job = turn.job;
  if (job.phase != Phase::kTraining || job.membership.workers_count() > 0) return;
  // With groups numbers have gaps where some were scaled down.
  const auto ended = std::ranges::count_if(job.ended, [&](WorkerId worker) {
    return !job.options.groups.empty() || worker.value() < job.options.workers_wanted;
  });
  if (ended == 0 || static_cast<uint64_t>(ended) < job.options.workers_wanted) return;
  job.finishing.have_scripts_ended = true;
  BeginFinishing(turn, fmt::format("all scripts ended after {:.1f} epochs",
                                   static_cast<double>(job.committed_samples) /
                                       static_cast<double>(job.train_samples)));
}

namespace {

void BeginSaving(Turn turn) {
  turn.job.finishing.stage = Stage::kSaving;
  turn.job.finishing.fetches_failed = 0;
  turn.job.finishing.is_fetched = false;
  turn.job.finishing.fetch_again = turn.now;
}

}  // namespace

void AdvanceFinishing(Turn turn) {
  JobState& job = turn.job;
  FinishingState& finishing = job.finishing;
  if (finishing.stage == Stage::kQuiescing) {
    if (!IsQuiet(turn)) return;
    finishing.stage = Stage::kKeeping;
    job.participants.clear();
    for (const Session& session : job.membership.workers())
      SendHome(turn, session, OutcomeInWords(job));
  }
  if (finishing.stage == Stage::kKeeping) {
    if (!IsKept(turn)) return;
    if (finishing.is_suspending) return Suspend(turn, finishing.reason);
    BeginSaving(turn);
  }
  if (finishing.stage == Stage::kEvaluating) {
    if (!IsEvaluated(turn)) return;
    // An earlier version than the one that is saved may have met the target since.
    if (finishing.saved == FinalVersion(job) || !finishing.not_saved.empty())
      return Conclude(turn, finishing.is_unjudged ? End::kFailure : End::kSuccess,
                      OutcomeInWords(job));
    BeginSaving(turn);
  }
  if (finishing.fetch_again.has_value() && turn.now >= *finishing.fetch_again) {
    finishing.fetch_again.reset();
    turn.effects.push_back(SaveModel{FinalVersion(job), job.options.generation,
                                     job.frozen.value_or(std::vector<protocol::FrozenTensor>())});
  }
}

void NoteLoss(JobState& job, const std::string& why) {
  const bool is_evaluated =
      job.evaluation.newest.has_value() && job.evaluation.newest->version == LastVersion(job);
  if (!is_evaluated && job.options.has_evaluator && job.finishing.not_evaluated.empty())
    job.finishing.not_evaluated = why;
}

void OnModelFetched(Turn turn, const ModelFetched& fetched) {
  JobState& job = turn.job;
  if (job.phase != Phase::kFinishing || job.finishing.stage != Stage::kSaving) return;
  if (fetched.generation == job.options.generation) job.finishing.is_fetched = true;
}

bool IsModelHere(const JobState& job) {
  return job.phase == Phase::kFinishing && job.finishing.is_fetched;
}

void OnModelSaved(Turn turn, const ModelSaved& saved) {
  JobState& job = turn.job;
  if (job.phase != Phase::kFinishing || job.finishing.stage != Stage::kSaving) return;
  if (saved.generation != job.options.generation) return;
  // A shard that cannot be asked may be lost, which is heard of soon.
  if (saved.is_fetch_problem && ++job.finishing.fetches_failed < kFetchesMax) {
    job.finishing.fetch_again = turn.now + kFetchPause;
    return;
  }
  FinishingState& finishing = job.finishing;
  if (!saved.problem.empty() && !finishing.saved.has_value()) {
    if (!saved.is_fetch_problem) return TryToSaveLater(turn, saved.problem);
    return Fail(turn, fmt::format("the final model cannot be saved: {}", saved.problem));
  }
  finishing.stage = Stage::kEvaluating;
  finishing.is_fetched = false;
  if (saved.problem.empty()) {
    finishing.saved = saved.version;
    finishing.save_problem.clear();
  } else {
    finishing.not_saved = saved.problem;  // What was saved before stays.
  }
  if (finishing.last_try.has_value()) EndAsSaved(turn, *finishing.last_try);
}

void EndAsSaved(Turn turn, const std::string& why_now) {
  FinishingState& finishing = turn.job.finishing;
  if (finishing.saved != FinalVersion(turn.job) && finishing.not_saved.empty())
    finishing.not_saved = why_now;
  NoteLoss(turn.job, why_now);
  Conclude(turn, finishing.is_unjudged ? End::kFailure : End::kSuccess, OutcomeInWords(turn.job));
}

std::optional<Time> FinishingDeadline(const JobState& job) {
  const FinishingState& finishing = job.finishing;
  if (finishing.stage == Stage::kQuiescing && !job.pushes.is_idle()) return finishing.quiesced;
  if (finishing.stage == Stage::kEvaluating) return finishing.evaluator_awaited;
  if (finishing.stage == Stage::kSaving) return finishing.fetch_again;
  return std::nullopt;
}

void Fail(Turn turn, const std::string& reason) {
  if (turn.job.phase != Phase::kOver) Conclude(turn, End::kFailure, reason);
}

void Suspend(Turn turn, const std::string& reason) {
  if (turn.job.phase == Phase::kOver) return;
  turn.job.finishing.is_suspending = true;
  Conclude(turn, End::kSuspension, reason);
}

void BeginSuspending(Turn turn, const std::string& reason) {
  JobState& job = turn.job;
  FinishingState& finishing = job.finishing;
  if (IsModelHere(job)) {
    // What is being written now counts as that attempt.
    if (finishing.fetch_again.has_value()) finishing.fetch_again = turn.now;
    finishing.last_try = reason;
    return;
  }
  if (finishing.saved.has_value()) return EndAsSaved(turn, reason);
  if (job.phase == Phase::kStartup || !job.options.checkpoint.has_value())
    return Suspend(turn, reason);
  const bool is_kept = finishing.stage == Stage::kEvaluating || finishing.stage == Stage::kSaving;
  if (job.phase == Phase::kFinishing && is_kept) return Suspend(turn, reason);
  BeginFinishing(turn, reason);
  finishing.is_suspending = true;
  finishing.reason = reason;
}

}  // namespace paceline::coordination
