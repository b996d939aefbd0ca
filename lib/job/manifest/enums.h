// Defines the enums of the TrainingJob manifest, each with its words.
#pragma once

#include "lib/job/manifest/words.h"

namespace paceline::job {

enum class BuiltInModel { kSoftmax, kMlp, kCnn };
PACELINE_WORDS(BuiltInModel, "Softmax", "Mlp", "Cnn")

enum class Loss {
  kCrossEntropy,
  kMeanSquaredError,
  kModel
};  // kModel: the module's own `loss` method.
PACELINE_WORDS(Loss, "CrossEntropy", "MeanSquaredError", "Model")

enum class OnDrop { kReturn, kDiscard };
PACELINE_WORDS(OnDrop, "Return", "Discard")

// What the tokens of a .bin file are stored as.
enum class TokenType { kUInt16, kInt32 };
PACELINE_WORDS(TokenType, "UInt16", "Int32")

// What forward passes and their losses compute in; parameters and gradients are float32.
enum class Precision { kFloat32, kBFloat16, kFloat16 };
PACELINE_WORDS(Precision, "Float32", "BFloat16", "Float16")

enum class OptimizerType { kSgd, kAdamW, kAdagrad, kLion, kLamb };
PACELINE_WORDS(OptimizerType, "SGD", "AdamW", "Adagrad", "Lion", "LAMB")

// WSD: warm-up, stable, decay.
enum class Schedule {
  kConstant,
  kCosine,
  kStep,
  kLinear,
  kPolynomial,
  kWsd,
  kOneCycle,
  kCosineRestarts,
  kReduceOnPlateau
};
PACELINE_WORDS(Schedule, "Constant", "Cosine", "Step", "Linear", "Polynomial", "WSD", "OneCycle",
               "CosineRestarts", "ReduceOnPlateau")

// Which way a held-out number gets better.
enum class Better { kHigher, kLower };
PACELINE_WORDS(Better, "Higher", "Lower")

// Which version becomes the model: the last one, or the best that was evaluated.
enum class KeptModel { kLast, kBest };
PACELINE_WORDS(KeptModel, "Last", "Best")

enum class Scheme {
  kBsp,
  kSsp,
  kAsp,
  kBackupWorkers,
  kDbw,
  kWbsp,
  kPsPlus,
  kKAsync,
  kKBatchAsync,
  kAuto
};
PACELINE_WORDS(Scheme, "BSP", "SSP", "ASP", "BackupWorkers", "DBW", "WBSP", "PSPlus", "KAsync",
               "KBatchAsync", "Auto")

// What a quorum may be besides a number of workers.
enum class QuorumWord { kAll, kDbw };
PACELINE_WORDS(QuorumWord, "All", "DBW")

// What becomes of a push that is older than what the open round takes.
enum class Late { kDrop, kWeigh };
PACELINE_WORDS(Late, "Drop", "Weigh")

// What a worker does until its push is answered.
enum class Meanwhile { kWait, kGoOn, kLocalSteps, kEagerPull };
PACELINE_WORDS(Meanwhile, "Wait", "GoOn", "LocalSteps", "EagerPull")

// What the mean of local steps is given to.
enum class OuterType { kSgd };
PACELINE_WORDS(OuterType, "SGD")

// Of schemes without a barrier: whether a worker's push moves the parameters by 1/n of its gradient
// or by all of it.
enum class UpdateScale { kPerWorker, kFull };
PACELINE_WORDS(UpdateScale, "PerWorker", "Full")

enum class BatchStrategy { kEqual, kEma, kNarx, kStepwise };
PACELINE_WORDS(BatchStrategy, "Equal", "EMA", "NARX", "Stepwise")

// What k is chosen by: the expected gain a second, gradients a second, the loss, or a rival's way.
enum class DbwMethod { kGain, kBlind, kAdaSync, kNoiseScale, kStar };
PACELINE_WORDS(DbwMethod, "Gain", "Blind", "AdaSync", "NoiseScale", "STAR")

// What a worker does whose gradient comes too late: finishes it, being offered the new version
// (push and wait) or not (pull and wait), or gives it up (push and interrupt).
enum class LateWorker { kFinish, kFinishThenPull, kInterrupt };
PACELINE_WORDS(LateWorker, "Finish", "FinishThenPull", "Interrupt")

// What a loss that rose does to k: one more than before at least, all workers, nothing.
enum class DbwLossRule { kBump, kJump, kNone };
PACELINE_WORDS(DbwLossRule, "Bump", "Jump", "None")

// The learning rate of a step of k of n workers: the schedule's, k/n of it, or a factor for each k.
enum class DbwRateRule { kConstant, kProportional, kTable };
PACELINE_WORDS(DbwRateRule, "Constant", "Proportional", "Table")

// k when no k promises a gain: all workers, or the last k.
enum class DbwFallback { kAll, kHold };
PACELINE_WORDS(DbwFallback, "All", "Hold")

enum class RoundTrigger { kAllPushed, kDesignated };
PACELINE_WORDS(RoundTrigger, "AllPushed", "Designated")

enum class LatePush { kFold, kDrop };
PACELINE_WORDS(LatePush, "Fold", "Drop")

// What becomes of local steps that were not pushed when a new version arrives.
enum class OnPull { kRebase, kOverwrite };
PACELINE_WORDS(OnPull, "Rebase", "Overwrite")

enum class MomentumOnPull { kKeep, kReset };
PACELINE_WORDS(MomentumOnPull, "Keep", "Reset")

enum class Modulation { kStaleness, kInverse, kExponential, kProgressGap, kNone };
PACELINE_WORDS(Modulation, "Staleness", "Inverse", "Exponential", "ProgressGap", "None")

enum class Device { kAuto, kCpu, kCuda };
PACELINE_WORDS(Device, "Auto", "CPU", "CUDA")

// Auto: shared memory between processes on one machine, where they have it; sockets elsewhere.
enum class Transport { kAuto, kSockets };
PACELINE_WORDS(Transport, "Auto", "Sockets")

// How precisely gradients or parameters travel.
enum class NumberType { kFloat32, kBfloat16 };
PACELINE_WORDS(NumberType, "Float32", "BFloat16")

enum class NonFiniteAction { kRollBack, kFail };
PACELINE_WORDS(NonFiniteAction, "RollBack", "Fail")

enum class StragglerAction { kReport, kReplace };
PACELINE_WORDS(StragglerAction, "Report", "Replace")

enum class Toggle { kEnabled, kDisabled };
PACELINE_WORDS(Toggle, "Enabled", "Disabled")

// Whether a claim goes with what it was made for.
enum class ClaimFate { kRetain, kDelete };
PACELINE_WORDS(ClaimFate, "Retain", "Delete")

// Whose checkpoints a job goes on from: those of its own uid alone, or, if it has none, the newest
// that lie on its claim.
enum class CheckpointResume { kOwn, kFromClaim };
PACELINE_WORDS(CheckpointResume, "Own", "FromClaim")

enum class CleanPodPolicy { kRunning, kAll, kNone };
PACELINE_WORDS(CleanPodPolicy, "Running", "All", "None")

enum class DelayKind {
  kConstant,
  kPerWorker,
  kPerSample,
  kShiftedExponential,
  kRatio,
  kStepChange,
  kTrace
};
PACELINE_WORDS(DelayKind, "Constant", "PerWorker", "PerSample", "ShiftedExponential", "Ratio",
               "StepChange", "Trace")

enum class ConditionType {
  kCreated,
  kRunning,
  kRestarting,
  kSuspended,
  kSucceeded,
  kFailed,
  kResourcesReady,
  kDegraded,
  kStraggling,
  kRecoverable,
  kGangScheduled
};
PACELINE_WORDS(ConditionType, "Created", "Running", "Restarting", "Suspended", "Succeeded",
               "Failed", "ResourcesReady", "Degraded", "Straggling", "Recoverable", "GangScheduled")

// What became of a finished job's model: its coordinator's pod serves it; it was fetched, and
// whoever did has its digest; nobody fetched it in time; the pod went before that; it lies on the
// output's volume, which outlives the pod.
enum class ModelState { kAvailable, kFetched, kExpired, kLost, kOnVolume };
PACELINE_WORDS(ModelState, "Available", "Fetched", "Expired", "Lost", "OnVolume")

// What a rule of runPolicy.failurePolicy makes of an end: the job's end, a disruption, a failure.
enum class FailureAction { kFailJob, kIgnore, kCount };
PACELINE_WORDS(FailureAction, "FailJob", "Ignore", "Count")

enum class ExitCodeOperator { kIn, kNotIn };
PACELINE_WORDS(ExitCodeOperator, "In", "NotIn")

enum class ConditionStatus { kUnknown, kTrue, kFalse };
PACELINE_WORDS(ConditionStatus, "Unknown", "True", "False")

}  // namespace paceline::job
