#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"
#include "lib/job/state/checkpoint_place.h"
#include "lib/job/state/device.h"
#include "lib/job/state/rfc3339.h"

namespace paceline::job {
namespace {

// What is said of one condition.
struct Finding {
  ConditionType type = ConditionType::kCreated;
  bool holds = false;
  PlanReason reason = PlanReason::kNotYet;
  std::string message;
};

bool GoesOn(const Draft& draft) { return draft.verdict == Verdict::kGoesOn; }

// The reason of conditions that do not hold.
PlanReason Calm(const Draft& draft) {
  if (draft.verdict == Verdict::kSuspended) return PlanReason::kSuspended;
  if (draft.verdict == Verdict::kGivesWay) return PlanReason::kGaveWay;
  return GoesOn(draft) ? PlanReason::kNotYet : PlanReason::kJobFinished;
}

Finding Not(const Draft& draft, ConditionType type) { return {type, false, Calm(draft), ""}; }

// Whether training cannot go on without it. One that ended well is for the coordinator to judge.
bool IsLost(const SeenProcess* server) {
  if (server == nullptr || server->is_stopping) return true;
  if (server->state != ProcessState::kExited) return server->state != ProcessState::kRunning;
  return IsFailure(*server) || server->is_disruption;
}

// Whether training goes on. A coordinator that cannot be asked for a moment has not stopped.
bool IsTraining(const Draft& draft) {
  if (!GoesOn(draft) || !IsUp(draft.Find(draft.wanted.front().name))) return false;
  if (draft.IsModelWritten()) return true;
  for (const WantedProcess& wanted : draft.wanted) {
    if (wanted.role == Role::kParameterServer && IsLost(draft.Find(wanted.name))) return false;
  }
  if (draft.report != nullptr) {
    return draft.report->phase == TrainingPhase::kTraining ||
           draft.report->phase == TrainingPhase::kFinishing;
  }
  return Holds(draft.seen.status, ConditionType::kRunning);
}

bool IsLate(const Draft& draft, const SeenProcess* process) {
  return process != nullptr && process->state == ProcessState::kPending && !process->is_stopping &&
         draft.now >= LateAt(draft.job, *process);
}

Finding JudgeRunning(const Draft& draft) {
  if (IsTraining(draft) && draft.IsFinishing()) {
    return {ConditionType::kRunning, true, PlanReason::kFinishing,
            draft.IsModelWritten()
                ? "training has reached its stop; the model is written and judged"
                : "training has reached its stop; the model is being written"};
  }
  if (IsTraining(draft)) return {ConditionType::kRunning, true, PlanReason::kTraining, ""};
  return {ConditionType::kRunning, false, GoesOn(draft) ? PlanReason::kStarting : Calm(draft), ""};
}

Finding JudgeSuspended(const Draft& draft) {
  if (draft.verdict == Verdict::kSuspended)
    return {ConditionType::kSuspended, true, PlanReason::kSuspended, ""};
  const bool is_resumed =
      Holds(draft.seen.status, ConditionType::kSuspended) || draft.before.was_resumed;
  if (GoesOn(draft) && is_resumed)
    return {ConditionType::kSuspended, false, PlanReason::kResumed, ""};
  return Not(draft, ConditionType::kSuspended);
}

// Why what does not run does not: the first of the reasons that somebody can do something about.
PlanReason WhyNotRunning(const Draft& draft) {
  if (!draft.seen.resources_trouble.empty()) return PlanReason::kResourcesRefused;
  if (!draft.seen.former_job.empty()) return PlanReason::kWaitsForFormerJob;
  if (!draft.seen.terminating_claims.empty()) return PlanReason::kClaimTerminating;
  if (!draft.seen.missing_claim.empty()) return PlanReason::kClaimMissing;
  PlanReason reason = PlanReason::kProcessesMissing;
  for (const WantedProcess& wanted : draft.wanted) {
    const SeenProcess* process = draft.Find(wanted.name);
    if (process == nullptr || process->state != ProcessState::kPending) continue;
    if (!process->waiting_reason.empty()) return PlanReason::kCannotStart;
    if (process->is_unschedulable) reason = PlanReason::kUnschedulable;
  }
  return reason;
}

Finding JudgeResources(const Draft& draft) {
  const ConditionType type = ConditionType::kResourcesReady;
  if (draft.verdict == Verdict::kGivesWay) {
    return {type, false, PlanReason::kGaveWay,
            "too few of its processes found a machine; the job makes room for others and comes "
            "back later"};
  }
  if (!GoesOn(draft)) return Not(draft, type);
  std::vector<Absent> missing;
  for (const WantedProcess& wanted : draft.wanted) {
    const SeenProcess* process = draft.Find(wanted.name);
    const bool is_done = draft.HasScriptEnded(wanted.role, wanted.index, wanted.group);
    if (!is_done && !IsReady(process)) missing.emplace_back(wanted.name, process);
  }
  std::string message = draft.seen.resources_trouble;
  if (const std::string& left = draft.seen.former_job; message.empty() && !left.empty())
    message = fmt::format("waits until what a former job of this name left is gone: {}", left);
  if (const std::string& going = draft.seen.terminating_claims; message.empty() && !going.empty())
    message = fmt::format("waits until what is being deleted is gone: claim {}", going);
  if (const std::string& claim = draft.seen.missing_claim; message.empty() && !claim.empty()) {
    message = fmt::format(
        "waits for claim {} of spec.output.volume, which is not there or is being deleted", claim);
  }
  if (missing.empty() && message.empty()) return {type, true, PlanReason::kAllRunning, ""};
  if (!missing.empty()) {
    if (!message.empty()) message += "; ";
    message += "not running: " + DescribeAbsences(missing);
  }
  return {type, false, WhyNotRunning(draft), std::move(message)};
}

// A worker that was never there yet, after scaling up: nothing is worse than before until it is
// late.
bool IsNew(const Draft& draft, const std::string& name, const SeenProcess* process) {
  if (process != nullptr)
    return process->state == ProcessState::kPending && process->attempt == 0 &&
           !process->is_stopping && !IsLate(draft, process);
  return draft.AttemptOf(name) == 0;
}

// Of workers that say they compute on the CPU, and whose container has what may be a GPU.
std::string DescribeUnusedDevices(const Draft& draft) {
  if (draft.report == nullptr) return "";
  std::map<std::string, std::vector<std::string>> workers;  // By what their template has.
  for (const WorkerStatus& worker : draft.report->workers) {
    const SeenProcess* process = draft.Find(worker.name);
    if (worker.device != "CPU" || !IsReady(process)) continue;
    const DeviceChoice choice = DeviceOf(draft.job.spec, Role::kWorker, process->group);
    if (choice.device == Computes::kCudaIfUsable) workers[choice.why].push_back(worker.name);
  }
  std::vector<std::string> texts;
  for (auto& [why, names] : workers) {
    texts.push_back(fmt::format(
        "{}, and no GPU that CUDA can use was found there (the logs say what is missing): computed "
        "on the CPU by {}",
        why, Joined(std::move(names))));
  }
  if (texts.empty()) return "";
  return fmt::format("{}; workers.device: CPU says that this is meant", fmt::join(texts, "; "));
}

bool IsSilentForLong(const Draft& draft) {
  return draft.now >= draft.seen.silence->since + draft.options.silence_patience;
}

Finding JudgeDegraded(const Draft& draft) {
  const ConditionType type = ConditionType::kDegraded;
  if (!GoesOn(draft)) return Not(draft, type);
  if (draft.report != nullptr && !draft.report->model_trouble.empty()) {
    return {type, true, PlanReason::kModelNotWritten,
            "training is over; the final model cannot be written, is kept and tried again: " +
                draft.report->model_trouble};
  }
  if (draft.seen.silence && IsSilentForLong(draft)) {
    return {type, true, PlanReason::kCoordinatorUnreachable,
            fmt::format("let the operator reach the job's coordinator, which a NetworkPolicy, a "
                        "mesh or a firewall may forbid: since {} {}",
                        FormatTime(draft.seen.silence->since), draft.seen.silence->why)};
  }
  const bool is_training = IsTraining(draft);
  bool is_late = false;
  std::vector<Absent> missing;
  for (const WantedProcess& wanted : draft.wanted) {
    const SeenProcess* process = draft.Find(wanted.name);
    const bool has_finished = draft.IsFinishing() ||
                              (process != nullptr && draft.MayHaveFinished(*process)) ||
                              draft.HasScriptEnded(wanted.role, wanted.index, wanted.group);
    const bool is_missed = is_training && !has_finished && wanted.role == Role::kWorker &&
                           !IsReady(process) && !IsNew(draft, wanted.name, process);
    if (!is_missed && !IsLate(draft, process)) continue;
    is_late = is_late || IsLate(draft, process);
    missing.emplace_back(wanted.name, process);
  }
  if (!missing.empty()) {
    return {type, true, is_late ? PlanReason::kPendingTooLong : PlanReason::kWorkersMissing,
            "not running: " + DescribeAbsences(missing)};
  }
  if (is_training && draft.report != nullptr && draft.report->is_shard_stalled)
    return {type, true, PlanReason::kShardStalled, draft.report->standstill};
  if (draft.remembered().is_evaluator_gone) {
    return {type, true, PlanReason::kEvaluatorGone,
            "training goes on without evaluations: " + draft.plan.status.evaluator_gone};
  }
  if (draft.report != nullptr && !draft.report->target_problem.empty())
    return {type, true, PlanReason::kTargetNotJudged, draft.report->target_problem};
  if (is_training && draft.report != nullptr && !draft.report->checkpoint_trouble.empty()) {
    return {type, true, PlanReason::kCheckpointFailing,
            "no checkpoint can be written: " + draft.report->checkpoint_trouble};
  }
  if (draft.report != nullptr && !draft.report->idle_patterns.empty()) {
    return {type, true, PlanReason::kGroupUnmatched,
            fmt::format("no parameter of the model fits spec.training.parameterGroups' {}",
                        fmt::join(draft.report->idle_patterns, ", "))};
  }
  if (std::string unused = DescribeUnusedDevices(draft); !unused.empty())
    return {type, true, PlanReason::kDeviceUnused, std::move(unused)};
  return Not(draft, type);
}

// " (failure 2, backoffLimit allows 6)" of one that ended.
std::string DescribeCount(const Draft& draft, const SeenProcess& process) {
  const Duration healthy_after = draft.options.healthy_after;
  if (IsUnfit(process)) {
    return fmt::format(" (machine {} that cannot do its work)",
                       CountUnfit(process, draft.now, healthy_after));
  }
  if (!IsFailure(process)) return {};
  return fmt::format(" (failure {}, backoffLimit allows {})",
                     CountFailures(process, draft.now, healthy_after),
                     draft.job.spec.run_policy.backoff_limit);
}

// Why the coordinator has lost a parameter server that runs; empty if it has not.
std::string WhyLost(const Draft& draft, const WantedProcess& wanted) {
  if (draft.report == nullptr || wanted.role != Role::kParameterServer) return "";
  for (const SeenLostShard& lost : draft.report->lost_shards) {
    if (lost.rank == wanted.index && lost.was_there) return lost.reason;
  }
  return "";
}

// Processes on their way back, with what ended them where that is known.
std::vector<std::string> OnTheirWayBack(const Draft& draft, PlanReason& reason) {
  std::vector<std::string> restarting;
  bool is_failure = false, is_out_of_memory = false, is_server = false, is_unfit = false;
  const auto add = [&](const WantedProcess& wanted, std::string words) {
    is_server = is_server || wanted.role == Role::kParameterServer;
    restarting.push_back(std::move(words));
  };
  for (const WantedProcess& wanted : draft.wanted) {
    const SeenProcess* process = draft.Find(wanted.name);
    if (process == nullptr) {
      if (draft.AttemptOf(wanted.name).value_or(0) > 0) add(wanted, wanted.name);
    } else if (process->state == ProcessState::kExited && !process->is_stopping) {
      if (!IsFailure(*process) && !process->is_disruption) continue;
      if (!draft.StillNeeds(wanted.role)) continue;
      is_failure = is_failure || IsFailure(*process);
      is_out_of_memory = is_out_of_memory || process->is_out_of_memory;
      is_unfit = is_unfit || IsUnfit(*process);
      add(wanted, DescribeExit(*process) + DescribeCount(draft, *process));
    } else if (process->is_stopping) {
      add(wanted, DescribeAbsence(wanted.name, process));
    } else if (process->state == ProcessState::kPending && process->attempt > 0) {
      add(wanted, DescribeAbsence(wanted.name, process));
    } else if (const std::string why = WhyLost(draft, wanted); !why.empty()) {
      add(wanted, fmt::format("{} is lost: {}", Named(*process), why));
    }
  }
  reason = is_server          ? PlanReason::kRecovering
           : is_out_of_memory ? PlanReason::kOutOfMemory
           : is_unfit         ? PlanReason::kCannotWorkHere
           : is_failure       ? PlanReason::kProcessFailed
                              : PlanReason::kProcessDisrupted;
  return restarting;
}

// Until all are back, and training too if it had to stop for that.
Finding JudgeRestarting(const Draft& draft) {
  const ConditionType type = ConditionType::kRestarting;
  if (!GoesOn(draft)) return Not(draft, type);
  PlanReason reason = PlanReason::kNotYet;
  std::vector<std::string> restarting = OnTheirWayBack(draft, reason);
  if (!restarting.empty()) {
    const bool recovers = draft.before.is_recovering && !IsTraining(draft);
    return {type, true, recovers ? PlanReason::kRecovering : reason, Joined(std::move(restarting))};
  }
  const Condition* before = FindCondition(draft.seen.status, type);
  if (before == nullptr || before->status != ConditionStatus::kTrue || IsTraining(draft))
    return Not(draft, type);
  const bool recovers = draft.before.is_recovering;
  std::string message = before->message;  // Who it was, for people: nothing is decided by it.
  if (draft.plan.status.recovery != draft.seen.status.recovery)
    message += "; rolled back: " + draft.plan.status.recovery->message;
  return {type, true, recovers ? PlanReason::kRecovering : PlanReason::kProcessFailed,
          std::move(message)};
}

Finding JudgeStraggling(const Draft& draft) {
  const ConditionType type = ConditionType::kStraggling;
  std::vector<std::string> stragglers;
  if (draft.report != nullptr && IsTraining(draft)) {
    for (const SeenStraggler& straggler : draft.report->stragglers) {
      const std::string name =
          ProcessName(draft.job.metadata.name, Role::kWorker, straggler.worker, straggler.group);
      const SeenProcess* process = draft.Find(name);
      stragglers.push_back(fmt::format("{} takes {:.1f} times the median worker's time",
                                       process == nullptr ? name : Named(*process),
                                       straggler.slowdown_percent / 100));
    }
  }
  if (stragglers.empty()) return {type, false, PlanReason::kNoStraggler, ""};
  return {type, true, PlanReason::kStraggler, Joined(std::move(stragglers))};
}

// What the loss of a parameter server costs, said before there is one.
Finding JudgeRecoverable(const Draft& draft) {
  const ConditionType type = ConditionType::kRecoverable;
  if (draft.verdict == Verdict::kSucceeded || draft.verdict == Verdict::kFailed)
    return Not(draft, type);
  if (draft.KeepsCheckpoints()) {
    return {type, true, PlanReason::kCheckpointed,
            "a lost parameter server costs what was done since the newest checkpoint"};
  }
  return {type, false, PlanReason::kNoCheckpoints,
          "a lost parameter server costs everything since the start: " +
              WhyNoCheckpoints(draft.job.spec, draft.seen.output_claim)};
}

// " from version 320": where this restart rolled back to; empty if it did not.
std::string SinceRollBack(const Draft& draft) {
  const std::optional<RecoveryStatus>& recovery = draft.plan.status.recovery;
  const Condition* restarting = FindCondition(draft.seen.status, ConditionType::kRestarting);
  if (!recovery || restarting == nullptr || !recovery->time ||
      recovery->time < restarting->last_transition_time)
    return "";
  return fmt::format(" from version {}", recovery->to_version);
}

// What does not pass is told even where something else was amiss before.
bool IsNewsOfItsOwn(const Draft& draft, const Finding& finding) {
  const bool is_lasting = finding.reason == PlanReason::kEvaluatorGone ||
                          finding.reason == PlanReason::kTargetNotJudged ||
                          finding.reason == PlanReason::kCoordinatorUnreachable ||
                          finding.reason == PlanReason::kGroupUnmatched ||
                          finding.reason == PlanReason::kDeviceUnused ||
                          finding.reason == PlanReason::kModelNotWritten;
  return is_lasting && draft.before.degraded != ToWord(finding.reason);
}

void ReportRunning(Draft& draft, const Finding& finding, bool was) {
  if (finding.reason == PlanReason::kFinishing) {
    if (!draft.seen.status.finishing)
      draft.Report(EventType::kNormal, finding.reason, finding.message);
  } else if (!was && !draft.before.is_recovering) {
    draft.Report(EventType::kNormal, finding.reason, "training goes on");
  }
}

// Each transition is told once; what the judgements did is told by them.
void ReportTransition(Draft& draft, const Finding& finding) {
  const bool was = Holds(draft.seen.status, finding.type);
  const bool recovers = draft.before.is_recovering;
  if (finding.type == ConditionType::kRunning && finding.holds) {
    ReportRunning(draft, finding, was);
  } else if (finding.type == ConditionType::kResourcesReady && finding.holds && !was) {
    draft.Report(EventType::kNormal, finding.reason,
                 fmt::format("all {} processes run", draft.wanted.size()));
  } else if (finding.type == ConditionType::kRestarting && !finding.holds && recovers &&
             IsTraining(draft)) {
    draft.Report(EventType::kNormal, PlanReason::kRecovered,
                 "the parameter servers are back, training goes on" + SinceRollBack(draft));
  } else if (finding.type == ConditionType::kDegraded && finding.holds &&
             (!was || IsNewsOfItsOwn(draft, finding))) {
    draft.Report(EventType::kWarning, finding.reason, finding.message);
  } else if (finding.type == ConditionType::kStraggling && finding.holds && !was &&
             draft.job.spec.workers.straggler_policy.action == StragglerAction::kReport) {
    draft.Report(EventType::kWarning, finding.reason, finding.message);
  } else if (finding.type == ConditionType::kResourcesReady && !finding.holds &&
             finding.reason != PlanReason::kProcessesMissing && GoesOn(draft)) {
    if (draft.before.resources != ToWord(finding.reason))
      draft.Report(EventType::kWarning, finding.reason, finding.message);
  } else if (finding.reason == PlanReason::kNoCheckpoints) {
    // A version before told it too, and did not write down why.
    const bool was_told =
        !draft.seen.status.remembered && FindCondition(draft.seen.status, finding.type) != nullptr;
    if (!was_told && draft.before.no_checkpoints != draft.remembered().no_checkpoints)
      draft.Report(EventType::kWarning, finding.reason, finding.message);
  }
}

// For the next plan, which reads none of what is written for people.
void Remember(Draft& draft, const Finding& finding) {
  Remembered& remembered = draft.remembered();
  const std::string word(ToWord(finding.reason));
  if (finding.type == ConditionType::kRestarting)
    remembered.is_recovering = finding.holds && finding.reason == PlanReason::kRecovering;
  if (finding.type == ConditionType::kSuspended)
    remembered.was_resumed = finding.reason == PlanReason::kResumed;
  if (finding.type == ConditionType::kDegraded) remembered.degraded = finding.holds ? word : "";
  if (finding.type == ConditionType::kResourcesReady) remembered.resources = word;
  if (finding.type == ConditionType::kRecoverable) {
    const bool has_none = finding.reason == PlanReason::kNoCheckpoints;
    remembered.no_checkpoints =
        has_none ? ToWord(WhatForbidsCheckpoints(draft.job.spec, draft.seen.output_claim)) : "";
  }
}

// What whoever looks at the job should know of it from its first moment to its last.
std::string ToBeKnown(const Draft& draft) {
  std::vector<std::string> texts = DeviceNotes(draft.job.spec);
  if (draft.job.spec.security.mtls != Toggle::kEnabled) {
    texts.insert(
        texts.begin(),
        "security.mtls is Disabled: between pods pushes, pulls and the token that opens the "
        "coordinator's control calls travel open, and no process has to prove who it is");
  }
  if (draft.job.spec.observability.trace.max_bytes.value_or(0) > 0 &&
      !draft.job.spec.output.volume) {
    texts.emplace_back(
        "spec.observability.trace: no trace is written, for it would lie in spec.output.volume, "
        "and there is none");
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

void WriteConditions(Draft& draft) {
  const Finding findings[] = {
      // In the order in which events tell the story.
      {ConditionType::kCreated, true, PlanReason::kJobSeen, ToBeKnown(draft)},
      JudgeResources(draft),
      JudgeRunning(draft),
      JudgeRestarting(draft),
      JudgeSuspended(draft),
      JudgeDegraded(draft),
      JudgeStraggling(draft),
      JudgeRecoverable(draft)};
  for (const Finding& finding : findings) {
    Remember(draft, finding);
    ReportTransition(draft, finding);
    draft.SetCondition(finding.type,
                       finding.holds ? ConditionStatus::kTrue : ConditionStatus::kFalse,
                       finding.reason, finding.message);
  }
  // A verdict of this plan is written already, an earlier one stays as it was.
  for (ConditionType type : {ConditionType::kSucceeded, ConditionType::kFailed}) {
    if (Holds(draft.plan.status, type)) continue;
    draft.SetCondition(type, ConditionStatus::kFalse, PlanReason::kNotYet, "");
  }
}

}  // namespace paceline::job
