#include "lib/coordination/finishing.h"

#include <algorithm>
#include <utility>

#include "lib/coordination/asking.h"
#include "lib/coordination/checkpointing.h"
#include "lib/coordination/evaluating.h"

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
    if (job.birth.shards[rank].is_registered && !job.is_suspended)
      turn.effects.push_back(SendShard{ShardId(rank), protocol::StopShard{}});
  }
  turn.effects.push_back(Finished{job.is_success, reason, job.is_suspended});
}

Version FinalVersion(const JobState& job) {
  return job.finishing.target_met.value_or(job.commits.published());
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
    return fmt::format("target {} reached: {:.6g} at {}", TargetInWords(*target),
                       TargetValue(*target, *newest), *finishing.target_met);
  }
  std::string words = finishing.reason;
  const bool is_final_evaluated = newest.has_value() && newest->version == FinalVersion(job);
  if (target.has_value() && is_final_evaluated) {
    words += fmt::format("; target {} not reached: {:.6g}", TargetInWords(*target),
                         TargetValue(*target, *newest));
  }
  if (finishing.is_without_evaluation) {
    words += fmt::format("; {} is not evaluated: no evaluator within {:g} s", FinalVersion(job),
                         ToSeconds(job.options.evaluation_timeout));
  }
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
  if (job.evaluation.newest.has_value() && job.evaluation.newest->version == FinalVersion(job))
    return true;
  if (job.membership.evaluator() != nullptr) {
    finishing.evaluator_awaited.reset();
    AskEvaluator(turn, FinalVersion(job));
    return false;
  }
  if (!job.options.has_evaluator) return true;
  if (!finishing.evaluator_awaited.has_value()) {
    finishing.evaluator_awaited = turn.now + job.options.evaluation_timeout;
  }
  finishing.is_without_evaluation = turn.now >= *finishing.evaluator_awaited;
  return finishing.is_without_evaluation;
}

}  // namespace

std::optional<std::string> StopReason(const JobState& job) {
  if (job.leases->is_complete())
    return fmt::format("stopped after {} epochs", job.options.epochs_max);
  const uint64_t steps = job.commits.published().value();
  if (job.options.steps_max > 0 && steps >= job.options.steps_max)
    return fmt::format("stopped after {} steps", steps);
  return std::nullopt;
}

void BeginFinishing(Turn turn, const std::string& reason) {
  JobState& job = turn.job;
  if (job.phase != Phase::kTraining) return;
  job.phase = Phase::kFinishing;
  job.change.quiesced.reset();
  job.finishing.reason = reason;
  // The policy is given a little less than we wait, so that its own deadline comes first.
  const Time deadline = turn.now + job.options.quiesce_timeout;
  job.finishing.quiesced = deadline + job.options.heartbeat_period;
  Ask(turn, sync::Quiesce{sync::QuiesceReason::kStop, deadline});
}

void AdvanceFinishing(Turn turn) {
  JobState& job = turn.job;
  FinishingState& finishing = job.finishing;
  if (finishing.stage == Stage::kQuiescing) {
    if (!IsQuiet(turn)) return;
    finishing.stage = Stage::kKeeping;
    job.told.clear();
    for (const Session& session : job.membership.workers())
      SendHome(turn, session, OutcomeInWords(job));
  }
  if (finishing.stage == Stage::kKeeping) {
    if (!IsKept(turn)) return;
    if (finishing.is_suspending) return Suspend(turn, finishing.reason);
    finishing.stage = Stage::kEvaluating;
  }
  if (finishing.stage == Stage::kEvaluating) {
    if (!IsEvaluated(turn)) return;
    finishing.stage = Stage::kSaving;
    finishing.fetch_again = turn.now;
  }
  if (finishing.fetch_again.has_value() && turn.now >= *finishing.fetch_again) {
    finishing.fetch_again.reset();
    turn.effects.push_back(SaveModel{FinalVersion(job), job.options.generation});
  }
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
  if (saved.is_fetch_problem) {
    return Fail(turn, fmt::format("the final model cannot be saved: {}", saved.problem));
  }
  if (!saved.problem.empty()) return TryToSaveLater(turn, saved.problem);
  job.finishing.save_problem.clear();
  Conclude(turn, End::kSuccess, OutcomeInWords(job));
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
  if (job.phase == Phase::kBirth || !job.options.checkpoint.has_value())
    return Suspend(turn, reason);
  const bool is_kept = finishing.stage == Stage::kEvaluating || finishing.stage == Stage::kSaving;
  if (job.phase == Phase::kFinishing && is_kept) return Suspend(turn, reason);
  BeginFinishing(turn, reason);
  finishing.is_suspending = true;
  finishing.reason = reason;
}

}  // namespace paceline::coordination
