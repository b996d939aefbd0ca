// Defines PlanReason: one vocabulary for why a plan says what it says, in conditions, events,
// actions and logs.
#pragma once

#include "lib/job/manifest/words.h"

namespace paceline::job {

enum class PlanReason {
  kJobSeen,                 // Created: the first plan was made.
  kNotYet,                  // A condition that nothing speaks for so far.
  kStarting,                // Processes are wanted that do not run yet.
  kTraining,                // The coordinator says that steps are made.
  kAllRunning,              // Every wanted process runs.
  kProcessesMissing,        // Some wanted processes do not run.
  kWorkersMissing,          // Training goes on with fewer workers than wanted.
  kCheckpointFailing,       // Training goes on without new checkpoints.
  kCoordinatorUnreachable,  // The coordinator runs, and the operator cannot ask it.
  kModelNotWritten,         // Training is over, and its model finds no place yet.
  kEvaluatorGone,           // Training goes on without an evaluator, which is not started again.
  kTargetNotJudged,         // Nobody can judge the target.
  kGroupUnmatched,          // A pattern of parameterGroups fits no parameter of the model.
  kDeviceUnused,            // Workers whose pods hold what may be a GPU compute on the CPU.
  kFinishing,               // Training has reached its stop; the model is written, then judged.
  kProcessFailed,           // A process ended by its own fault, and is started again.
  kProcessDisrupted,        // A process ended by no fault of its own, and is started again.
  kOutOfMemory,             // A process was killed because it used too much memory.
  kProcessGone,             // A process went away without a trace, and is started again.
  kProcessFinished,         // A process ended well though the job goes on, and is started again.
  kUnschedulable,           // No machine has room for a process.
  kPlacedTogether,          // The job's PodGroup is a gang scheduler's to place.
  kNoGangScheduler,         // The job asks for that, and there is none.
  kCannotStart,             // A process waits for what does not come: an image, a volume, a Secret.
  kGaveWay,                 // Too few machines for too long: room is made for others, for a while.
  kPendingTooLong,          // A process waits for longer than scheduleTimeoutSeconds.
  kResourcesRefused,        // What the job needs could not be made.
  kWaitsForFormerJob,       // An earlier job of the same name is not gone yet.
  kClaimTerminating,        // A claim is waited for that is being deleted.
  kClaimMissing,            // A claim is waited for that decides where checkpoints are.
  kClaimKept,               // Another job made a claim, so that it does not go with this one.
  kLabelsChanged,           // Somebody changed the labels of a process's pod.
  kAnotherInstallation,     // The job is another installation's of Paceline.
  kCheckpointsFound,        // There were checkpoints before; it is said what was made of them.
  kInvalidSpec,             // The spec is one that no plan can be made of.
  kNodeLost,                // A process's machine does not answer any more.
  kRecovering,      // A parameter server is started again; training returns to a checkpoint.
  kRecovered,       // Training goes on after that.
  kRolledBack,      // Training went back to an earlier version.
  kSuspended,       // spec.runPolicy.suspend is true.
  kResumed,         // It no longer is.
  kScaledUp,        // More workers are wanted than there were.
  kScaledDown,      // More workers run than wanted.
  kSchemeChanged,   // Another scheme is in force than before.
  kCheckpointed,    // A lost parameter server costs what was done since the newest checkpoint.
  kNoCheckpoints,   // It costs everything.
  kHung,            // A worker's step hangs, and it does not go.
  kPoisonedSample,  // A sample made workers ill, or ended them, and is left out.
  kStraggler,       // A worker is slower than stragglerPolicy allows.
  kNoStraggler,
  kDeadlineExceeded,      // activeDeadlineSeconds.
  kBackoffLimitExceeded,  // backoffLimit.
  kPodFailurePolicy,      // A rule of failurePolicy says that the job fails.
  kCannotWork,            // A process said that starting it again is of no use.
  kCannotWorkHere,        // A process said that its machine cannot do the work.
  kShardStalled,          // A parameter server does not get on with what it was told.
  kShardLost,             // One that runs is silent, stuck or cut off, and is started anew.
  kParameterServerLost,   // And this program cannot bring one back.
  kTrainingFailed,        // The coordinator gave up.
  kTrainingSucceeded,
  kScriptsEnded,    // Training succeeded, and ended since all workers' scripts did.
  kModelAvailable,  // The coordinator's pod serves the model, for a while.
  kModelFetched,    // Somebody has it: that pod may go.
  kModelExpired,    // Nobody fetched it in time, and that pod goes.
  kModelLost,       // That pod went before anybody was known to have fetched it.
  kJobFinished,     // Processes are stopped because the job is over.
};
PACELINE_WORDS(PlanReason, "JobSeen", "NotYet", "Starting", "Training", "AllRunning",
               "ProcessesMissing", "WorkersMissing", "CheckpointFailing", "CoordinatorUnreachable",
               "ModelNotWritten", "EvaluatorGone", "TargetNotJudged", "GroupUnmatched",
               "DeviceUnused", "Finishing", "ProcessFailed", "ProcessDisrupted", "OutOfMemory",
               "ProcessGone", "ProcessFinished", "Unschedulable", "PlacedTogether",
               "NoGangScheduler", "CannotStart", "GaveWay", "PendingTooLong", "ResourcesRefused",
               "WaitsForFormerJob", "ClaimTerminating", "ClaimMissing", "ClaimKept",
               "LabelsChanged", "AnotherInstallation", "CheckpointsFound", "InvalidSpec",
               "NodeLost", "Recovering", "Recovered", "RolledBack", "Suspended", "Resumed",
               "ScaledUp", "ScaledDown", "SchemeChanged", "Checkpointed", "NoCheckpoints", "Hung",
               "PoisonedSample", "Straggler", "NoStraggler", "DeadlineExceeded",
               "BackoffLimitExceeded", "PodFailurePolicy", "CannotWork", "CannotWorkHere",
               "ShardStalled", "ShardLost", "ParameterServerLost", "TrainingFailed",
               "TrainingSucceeded", "ScriptsEnded", "ModelAvailable", "ModelFetched",
               "ModelExpired", "ModelLost", "JobFinished")

}  // namespace paceline::job
