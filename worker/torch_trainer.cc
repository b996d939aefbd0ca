#include "worker/torch_trainer.h"

#include <utility>
#include <vector>

#include "lib/telemetry/log.h"

namespace paceline::worker {
namespace {

// Of the samples, where several predictions belong to one (tokens), the share that is right.
uint64_t CorrectSamples(const learn::StepResult& result) {
  if (result.judged == 0 || result.judged == result.samples) return result.correct;
  return result.correct * result.samples / result.judged;
}

}  // namespace

StatusOr<std::unique_ptr<TorchTrainer>> TorchTrainer::Create(learn::TrainingOptions options) {
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<learn::Training> training,
                            learn::Training::Create(options));
  return std::unique_ptr<TorchTrainer>(new TorchTrainer(std::move(options), std::move(training)));
}

TorchTrainer::TorchTrainer(learn::TrainingOptions options,
                           std::unique_ptr<learn::Training> training)
    : options_(std::move(options)), training_(std::move(training)) {}

// Made once more, from the same file or seed: keeping a copy of the first values for a case so rare
// would cost every worker the memory of a model.
Status TorchTrainer::BeginAnew() {
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<learn::Training> anew,
                            learn::Training::Create(options_));
  retired_ = std::exchange(training_, std::move(anew));
  return OkStatus();
}

bool TorchTrainer::ComputeOn(const std::shared_ptr<rpc::VersionPlace>& place) {
  const std::span<std::byte> values = place == nullptr ? std::span<std::byte>() : place->values();
  return training_->ComputeOn(values) && (place == nullptr || !values.empty());
}

StatusOr<StepResult> TorchTrainer::Step(std::span<const protocol::SampleRange> ranges,
                                        StepControl& control) {
  std::vector<learn::SampleRange> translated;
  for (const protocol::SampleRange& range : ranges) {
    translated.push_back({range.epoch, range.begin, range.end});
  }
  learn::HandPart hand;
  if (rpc::BegunPush* const push = control.push()) {
    hand = [push](uint64_t offset_bytes, std::span<const std::byte> part) {
      push->Put(offset_bytes, part);
    };
  }
  StatusOr<learn::StepResult> computed = training_->Step(
      translated, [&control] { return control.MayGoOn(); }, hand);
  if (computed.status().code() == StatusCode::kFailedPrecondition)
    return WithDetail(computed.status(), kCauseDetail, Message(computed.status()));
  PACELINE_ASSIGN_OR_RETURN(learn::StepResult result, std::move(computed));
  if (result.took_statistics && !std::exchange(has_said_statistics_, true)) {
    telemetry::Log(telemetry::LogLevel::kWarning,
                   "batch norm takes its running statistics where a batch has one sample", {});
  }
  return StepResult{.loss = result.loss,
                    .samples = result.samples,
                    .correct = CorrectSamples(result),
                    .is_handed = hand != nullptr,
                    .loss_scale = training_->loss_scale(),
                    .without_gradient = std::move(result.without_gradient)};
}

StatusOr<Evaluation> TorchTrainer::Evaluate(const std::function<void()>& on_progress) {
  PACELINE_ASSIGN_OR_RETURN(learn::Evaluation evaluation, training_->Evaluate(on_progress));
  return Evaluation{.loss = evaluation.loss,
                    .accuracy = evaluation.accuracy,
                    .accuracy_from = std::move(evaluation.accuracy_from),
                    .metrics = std::move(evaluation.metrics),
                    .samples = evaluation.samples};
}

}  // namespace paceline::worker
