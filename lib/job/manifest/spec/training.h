// Defines how a model is trained: optimizer, learning rate, and when training ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/job/manifest/enums.h"
#include "lib/job/manifest/values/metric.h"

namespace paceline::job {

struct Sgd {
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  friend bool operator==(const Sgd&, const Sgd&) = default;
};

struct AdamW {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  friend bool operator==(const AdamW&, const AdamW&) = default;
};

struct Adagrad {
  double learning_rate_decay = 0;
  double initial_accumulator = 0;
  double epsilon = 1e-10;
  double weight_decay = 0;
  friend bool operator==(const Adagrad&, const Adagrad&) = default;
};

struct Lion {
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
  friend bool operator==(const Lion&, const Lion&) = default;
};

struct Lamb {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  friend bool operator==(const Lamb&, const Lamb&) = default;
};

struct Optimizer {  // Blocks of other types are kept and ignored.
  OptimizerType type = OptimizerType::kSgd;
  Sgd sgd;
  AdamW adam_w;
  Adagrad adagrad;
  Lion lion;
  Lamb lamb;
  friend bool operator==(const Optimizer&, const Optimizer&) = default;
};

// Parameters that are trained in a way of their own: those whose name fits one of `match`, and none
// of an earlier group's.
struct ParameterGroup {
  std::vector<std::string> match;      // With * for any characters and ? for one.
  std::optional<double> weight_decay;  // Absent: the optimizer's.
  double learning_rate_scale = 1;
  bool frozen = false;
  friend bool operator==(const ParameterGroup&, const ParameterGroup&) = default;
};

// An exponential moving average of the weights, which is evaluated and kept in their place.
struct Ema {
  double decay = 0.999;  // What each version leaves of the average.
  friend bool operator==(const Ema&, const Ema&) = default;
};

struct Polynomial {
  double power = 1;
  friend bool operator==(const Polynomial&, const Polynomial&) = default;
};

struct WarmupStableDecay {
  double decay_share = 0.1;  // Of all of training, its end.
  friend bool operator==(const WarmupStableDecay&, const WarmupStableDecay&) = default;
};

struct OneCycle {
  double peak_share = 0.3;       // Of all of training, until the rate is `base`.
  double start_divisor = 25;     // `base` by this is the first rate...
  double final_divisor = 10000;  // ...which by this is the last one.
  friend bool operator==(const OneCycle&, const OneCycle&) = default;
};

struct CosineRestarts {
  int64_t period_epochs = 10;  // From the warm-up's end to the first restart.
  int64_t period_factor = 1;   // Each period is so many times as long as the one before.
  friend bool operator==(const CosineRestarts&, const CosineRestarts&) = default;
};

struct Plateau {
  double factor = 0.1;    // What each cut leaves of the rate.
  int64_t patience = 10;  // Evaluations in a row without a better one, before a cut.
  friend bool operator==(const Plateau&, const Plateau&) = default;
};

struct LearningRate {  // Blocks of other schedules are kept and ignored.
  double base = 0;
  int64_t warmup_steps = 0;  // From 0 to `base`, linearly.
  Schedule schedule = Schedule::kConstant;
  double final = 0;          // The rate at the end of training, or of a period.
  int64_t step_epochs = 30;  // Step: epochs between two cuts.
  double factor = 0.1;       // Step: what each cut leaves.
  Polynomial polynomial;
  WarmupStableDecay wsd;
  OneCycle one_cycle;
  CosineRestarts cosine_restarts;
  Plateau plateau;
  friend bool operator==(const LearningRate&, const LearningRate&) = default;
};

struct Target {
  std::string metric{kAccuracyMetric};
  double value = 0;
  std::optional<Better> better;  // BetterOf(metric, better).
  friend bool operator==(const Target&, const Target&) = default;
};

struct StopRule {  // Whatever comes first. At least one is there in a valid job.
  std::optional<int64_t> max_epochs;
  std::optional<int64_t> max_steps;
  std::optional<Target> target;
  std::optional<int64_t> patience;  // Evaluations in a row without a better one.
  friend bool operator==(const StopRule&, const StopRule&) = default;
};

// What becomes of the job when more than half of its workers' gradients are not finite.
struct NonFinite {
  NonFiniteAction action = NonFiniteAction::kRollBack;
  double learning_rate_factor = 0.5;  // At each roll back.
  int64_t limit = 3;                  // Roll backs; the next time the job fails.
  friend bool operator==(const NonFinite&, const NonFinite&) = default;
};

struct Training {
  int64_t global_batch_size = 0;
  std::optional<int64_t> micro_batch_size;
  Precision precision = Precision::kFloat32;
  Optimizer optimizer;
  std::vector<ParameterGroup> parameter_groups;  // Of a parameter, the first one that it fits.
  LearningRate learning_rate;
  std::optional<Ema> ema;
  std::optional<double> gradient_clip_norm;
  NonFinite non_finite;
  StopRule stop;
  int64_t seed = 0;
  bool deterministic = false;
  friend bool operator==(const Training&, const Training&) = default;
};

}  // namespace paceline::job
