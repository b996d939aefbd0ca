#include "simulator/learning/model_objective.h"

#include <algorithm>
#include <iterator>
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
  options.eval_batch_size = kSamplesAtOnce;
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<learn::Training> training,
                            learn::Training::Create(options));
  for (const store::TensorPlace& tensor : training->layout().tensors()) {
    if (tensor.spec.kind == store::TensorKind::kBuffer) {
      return InvalidArgument(
          "{} has the buffer {}: only models whose tensors are all trained can be simulated",
          files.model, tensor.spec.name);
    }
  }
  return std::unique_ptr<ModelObjective>(new ModelObjective(std::move(training)));
}

ModelObjective::ModelObjective(std::unique_ptr<learn::Training> training)
    : training_(std::move(training)) {
  std::ranges::copy(Floats(training_->parameters()), std::back_inserter(start_));
}

Values ModelObjective::Begin(uint64_t seed) {
  training_->Reseed(seed);
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
  return evaluation.ok() ? evaluation->loss : Fail(evaluation.status());
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
