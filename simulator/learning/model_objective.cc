#include "simulator/learning/model_objective.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "lib/store/layout.h"

namespace paceline::simulator {
namespace {

constexpr uint64_t kSamplesAtOnce = 4096;  // Of those whose loss is asked for.

// All of the layout's are float32, as Open has seen to.
template <class Byte>
auto Floats(std::span<Byte> bytes) {
  using Float = std::conditional_t<std::is_const_v<Byte>, const float, float>;
  return std::span(reinterpret_cast<Float*>(bytes.data()), bytes.size() / sizeof(float));
}

}  // namespace

StatusOr<std::unique_ptr<ModelObjective>> ModelObjective::Open(const ModelFiles& files) {
  learn::TrainingOptions options;
  options.model_path = files.model;
  options.loss = files.loss;
  options.train.path = files.train;
  options.eval.emplace().path = files.eval.empty() ? files.train : files.eval;
  return Open(options, JudgedBy::kLoss);
}

StatusOr<std::unique_ptr<ModelObjective>> ModelObjective::Open(
    const learn::TrainingOptions& options, JudgedBy judged_by) {
  learn::TrainingOptions own = options;
  own.device = "cpu";
  own.threads = 1;
  own.prefetch_batches = 0;  // The next samples are another worker's.
  own.eval_batch_size = kSamplesAtOnce;
  if (!own.eval) return FailedPrecondition("there is no held-out set to judge it by");
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<learn::Training> training,
                            learn::Training::Create(own));
  for (const store::TensorPlace& tensor : training->layout().tensors()) {
    if (tensor.spec.kind == store::TensorKind::kBuffer) {
      return InvalidArgument(
          "{} has the buffer {}: only models whose tensors are all trained can be simulated",
          own.built_in ? "the built-in model" : own.model_path, tensor.spec.name);
    }
  }
  if (judged_by == JudgedBy::kError) {
    PACELINE_ASSIGN_OR_RETURN(const learn::Evaluation evaluation, training->Evaluate());
    if (!evaluation.accuracy)
      return FailedPrecondition("it has no accuracy: {}", evaluation.accuracy_from);
  }
  return std::unique_ptr<ModelObjective>(
      new ModelObjective(std::move(own), judged_by, std::move(training)));
}

ModelObjective::ModelObjective(learn::TrainingOptions options, JudgedBy judged_by,
                               std::unique_ptr<learn::Training> training)
    : options_(std::move(options)), judged_by_(judged_by), training_(std::move(training)) {
  ReadStart();
}

void ModelObjective::ReadStart() {
  const auto values = Floats(training_->parameters());
  start_.assign(values.begin(), values.end());
}

Values ModelObjective::Begin(uint64_t seed) {
  if (!options_.built_in || !options_.init_path.empty()) {
    training_->Reseed(seed);
    return start_;
  }
  options_.seed = seed;
  StatusOr<std::unique_ptr<learn::Training>> training = learn::Training::Create(options_);
  if (!training.ok()) {
    Fail(training.status());
    return start_;
  }
  training_ = *std::move(training);
  ReadStart();
  return start_;
}

void ModelObjective::Write(const Values& at) {
  std::ranges::transform(at, Floats(training_->parameters()).begin(),
                         [](double value) { return static_cast<float>(value); });
}

double ModelObjective::Fail(const Status& status) {
  status_ = status;
  return std::numeric_limits<double>::quiet_NaN();
}

double ModelObjective::Loss(const Values& at) {
  Write(at);
  const StatusOr<learn::Evaluation> evaluation = training_->Evaluate();
  if (!evaluation.ok()) return Fail(evaluation.status());
  if (judged_by_ == JudgedBy::kLoss || !std::isfinite(evaluation->loss)) return evaluation->loss;
  return 1 - evaluation->accuracy.value_or(0);
}

double ModelObjective::Gradient(const Values& at, std::span<const EpochRange> samples,
                                RandomStream&, Values& gradient) {
  Write(at);
  const StatusOr<learn::StepResult> step = training_->Step(samples);
  gradient.resize(at.size());
  std::ranges::copy(Floats(std::as_const(*training_).push()), gradient.begin());
  return step.ok() ? step->loss : Fail(step.status());
}

}  // namespace paceline::simulator
