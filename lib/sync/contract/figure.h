// Defines Figure: a quantity that a policy works with, told to people through metrics and progress.
//
// Each kind is declared once, in kFigureKinds, and becomes a metric of that name. Decisions never
// depend on whether anybody looks.
//
// Example, within a policy:
//   figures.push_back({&kWaitingFor, 3});
//   figures.push_back({&kWorkerBatchSize, 64, "w0"});
#pragma once

#include <string>
#include <string_view>

namespace paceline::sync {

inline constexpr std::string_view kWorkerLabel = "worker";  // Of what is said of each worker.

struct FigureKind {
  std::string_view name;   // Of the metric, by its rules: what ends in _total only grows.
  std::string_view help;   // One sentence, with the unit.
  std::string_view label;  // What tells its series apart ("worker", "k"); empty if there is one.
};

struct Figure {
  const FigureKind* kind = nullptr;
  double value = 0;
  std::string label = {};  // Of the kind's label.
};

inline constexpr FigureKind kWaitingFor{
    "paceline_step_waits_for", "Pushes that the running round waits for: k of the n workers.", ""};

// Batch sizing.
inline constexpr FigureKind kWorkerBatchSize{
    "paceline_worker_batch_size", "Samples that a worker is given in the running step.", "worker"};
inline constexpr FigureKind kGlobalBatch{"paceline_global_batch_size",
                                         "Samples that the workers are given together.", ""};
inline constexpr FigureKind kWorkerSpeed{
    "paceline_worker_samples_per_second",
    "Speed of a worker in its latest step, waiting and communication left out.", "worker"};
inline constexpr FigureKind kWorkerSpeedPredicted{
    "paceline_worker_predicted_samples_per_second",
    "Speed of a worker that the running step's batch sizes are based on.", "worker"};
inline constexpr FigureKind kMeanError{"paceline_speed_error_of_mean",
                                       "Root mean square error of the log of the speed that the "
                                       "exponential mean (EMA) predicts, over 50 steps: "
                                       "0.1 is about 10 %.",
                                       "worker"};
inline constexpr FigureKind kNarxError{"paceline_speed_error_of_narx",
                                       "Root mean square error of the log of the speed that NARX "
                                       "predicts, over 50 steps: 0.1 is about 10 %.",
                                       "worker"};
inline constexpr FigureKind kNarxInUse{
    "paceline_speed_is_from_narx",
    "1 where NARX predicts a worker's speed, 0 where the exponential mean does.", "worker"};
inline constexpr FigureKind kStragglerEffect{
    "paceline_straggler_effect",
    "Slowest less fastest worker's time of computing a step, as a share of their mean.", ""};
inline constexpr FigureKind kBatchStep{
    "paceline_batch_step_samples", "Samples that Stepwise moves from one worker to another.", ""};
inline constexpr FigureKind kBatchAdjustments{
    "paceline_batch_adjustments_total",
    "Changes of batch sizes: speed, fine, rapid, oscillation (a fine one that halved the step), "
    "oom (a memory limit learnt).",
    "type"};

// DBW and its arms.
inline constexpr FigureKind kBackupWorkers{
    "paceline_step_backup_workers", "Workers that the running step does not wait for: n - k.", ""};
inline constexpr FigureKind kArrivalSeconds{
    "paceline_step_arrival_seconds",
    "From the beginning of the last step to the arrival of its push of that rank; 1 came first.",
    "rank"};
inline constexpr FigureKind kWorkerRoundTrip{
    "paceline_worker_round_trip_seconds",
    "From a worker's release to its push, waiting left out: a mean of the last few.", "worker"};
inline constexpr FigureKind kWorkerAcceptRatio{
    "paceline_worker_accept_ratio",
    "Share of a worker's last few pushes that counted, 0 to 1; where workers are far apart the "
    "model is biased.",
    "worker"};
inline constexpr FigureKind kDbwGain{"paceline_dbw_gain",
                                     "Expected decrease of the loss by a step of k pushes.", "k"};
inline constexpr FigureKind kDbwSeconds{
    "paceline_dbw_step_seconds", "Expected time from the beginning of a step to its k-th push.",
    "k"};
inline constexpr FigureKind kDbwSquaredGradient{
    "paceline_dbw_squared_gradient", "Estimated squared norm of the gradient of the loss.", ""};
inline constexpr FigureKind kDbwSampleVariance{
    "paceline_dbw_sample_variance", "Estimated trace of the covariance of one sample's gradient.",
    ""};
inline constexpr FigureKind kDbwSmoothness{"paceline_dbw_smoothness",
                                           "Estimated smoothness constant of the loss.", ""};
inline constexpr FigureKind kDbwLoss{"paceline_dbw_loss",
                                     "Mean loss of the pushes in the last steps.", ""};
inline constexpr FigureKind kDbwFallbacks{"paceline_dbw_fallbacks_total",
                                          "Steps whose k is not the one with the largest expected "
                                          "gain per second: warm-up, no-gain, loss-rose.",
                                          "reason"};

// Auto.
inline constexpr FigureKind kAutoAsync{
    "paceline_auto_async", "1 where Auto trains without a barrier, 0 where with one.", ""};
inline constexpr FigureKind kAutoProgress{
    "paceline_auto_progress",
    "Auto: progress a second that is expected of a way: steps of all workers, as far as they come "
    "to first order without noise.",
    "way"};
inline constexpr FigureKind kAutoChoices{"paceline_auto_choices_total",
                                         "Auto: choices that were taken, by reason.", "reason"};
inline constexpr FigureKind kAutoGain{
    "paceline_auto_gain",
    "Auto: progress a second of the last choice beside the one before: expected, and measured once "
    "it is known.",
    "kind"};

// WBSP.
inline constexpr FigureKind kWbspRounds{
    "paceline_wbsp_rounds_total", "Local steps: rounds that ended, each with a new version.", ""};
inline constexpr FigureKind kWbspRoundSeconds{"paceline_wbsp_round_seconds",
                                              "Local steps: seconds that the last round took.", ""};
inline constexpr FigureKind kWbspLocalSteps{
    "paceline_wbsp_local_steps", "Local steps of a worker that counted in the last round.",
    "worker"};
inline constexpr FigureKind kWbspPushes{"paceline_wbsp_pushes_total",
                                        "Local steps: pushes that arrived.", "worker"};
inline constexpr FigureKind kWbspPulls{
    "paceline_wbsp_pulls_total",
    "Local steps: versions that a worker was released or offered to pull.", "worker"};
inline constexpr FigureKind kWbspComputeRatio{
    "paceline_wbsp_compute_ratio",
    "Local steps: share of a worker's time that it computed, 0 to 1.", "worker"};
inline constexpr FigureKind kWbspLatePushes{
    "paceline_wbsp_late_pushes_total",
    "Local steps: pushes made for the round before, by what becomes of them.", "policy"};
inline constexpr FigureKind kWbspDeltaNorm{
    "paceline_wbsp_delta_norm", "Local steps: Euclidean norm of the latest delta pushed.",
    "worker"};
inline constexpr FigureKind kWbspTriggerWorker{
    "paceline_wbsp_trigger_worker",
    "Local steps: index of the worker whose push ended the last round; -1 if it timed out.", ""};
inline constexpr FigureKind kWbspUnpushedSteps{
    "paceline_wbsp_unpushed_steps",
    "Local steps that workers hold samples for and have not pushed.", ""};
inline constexpr FigureKind kWbspParkedWorkers{
    "paceline_wbsp_parked_workers",
    "Local steps: workers that wait for the round's end, having made maxLocalSteps.", ""};
inline constexpr FigureKind kWbspTimeouts{
    "paceline_wbsp_round_timeouts_total",
    "Local steps: rounds that timed out while waiting for the worker.", "worker"};

// PS+.
inline constexpr FigureKind kLearningRateScale{
    "paceline_psplus_learning_rate_scale",
    "Factor by which staleness shrinks the worker's next push, 0 to 1.", "worker"};
inline constexpr FigureKind kParkedReplies{
    "paceline_psplus_parked_replies",
    "Pushes whose answer is held back by the bound on staleness or until the round ends.", ""};
inline constexpr FigureKind kProgressGap{
    "paceline_psplus_progress_gap", "Pushes that the fastest worker is ahead of the slowest.", ""};

// All of them.
inline constexpr const FigureKind* kFigureKinds[] = {
    &kWaitingFor,
    &kWorkerBatchSize,
    &kGlobalBatch,
    &kWorkerSpeed,
    &kWorkerSpeedPredicted,
    &kMeanError,
    &kNarxError,
    &kNarxInUse,
    &kStragglerEffect,
    &kBatchStep,
    &kBatchAdjustments,
    &kBackupWorkers,
    &kArrivalSeconds,
    &kWorkerRoundTrip,
    &kWorkerAcceptRatio,
    &kDbwGain,
    &kDbwSeconds,
    &kDbwSquaredGradient,
    &kDbwSampleVariance,
    &kDbwSmoothness,
    &kDbwLoss,
    &kDbwFallbacks,
    &kAutoAsync,
    &kAutoProgress,
    &kAutoChoices,
    &kAutoGain,
    &kWbspRounds,
    &kWbspRoundSeconds,
    &kWbspLocalSteps,
    &kWbspPushes,
    &kWbspPulls,
    &kWbspComputeRatio,
    &kWbspLatePushes,
    &kWbspDeltaNorm,
    &kWbspTriggerWorker,
    &kWbspUnpushedSteps,
    &kWbspParkedWorkers,
    &kWbspTimeouts,
    &kLearningRateScale,
    &kParkedReplies,
    &kProgressGap,
};

}  // namespace paceline::sync
