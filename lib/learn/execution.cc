#include "lib/learn/execution.h"

#include <functional>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <fmt/ranges.h>

#include "lib/learn/autocast.h"
#include "lib/learn/catch_torch.h"

namespace paceline::learn {
namespace {

std::string DataText(const Column& column, uint64_t rows) {
  return fmt::format("shape {} of {} ({})", ShapeText(rows, column.shape), Name(column.type()),
                     column.name);
}

std::string InputsText(const Dataset& data, uint64_t rows) {
  std::vector<std::string> texts;
  for (const Column& column : data.inputs()) texts.push_back(DataText(column, rows));
  return fmt::format("inputs of {}", fmt::join(texts, " and "));
}

// Only lack of memory is no mistake of the caller's.
Status AsMistake(const Status& status, const std::string& context) {
  if (status.code() == StatusCode::kResourceExhausted) return Annotate(status, context);
  return InvalidArgument("{}: {}", context, Message(status));
}

Status CheckClasses(const Dataset& data, const at::Tensor& outputs) {
  const Column& targets = data.targets();
  const int64_t classes = outputs.size(-1);
  const auto are_classes = [&](const Column::Extent& extent) {
    return extent.smallest >= 0 && extent.largest < classes;
  };
  if (are_classes(targets.TypeExtent())) return OkStatus();  // Whatever they are.
  for (const Piece& piece : targets.pieces) {
    const Column::Extent extent = targets.IntegerExtent(piece);
    if (piece.rows == 0 || are_classes(extent)) continue;
    return InvalidArgument(
        "{} has class {}, but the model's outputs of shape {} have classes 0 to {}", piece.name,
        extent.smallest < 0 ? extent.smallest : extent.largest, ShapeText(outputs.sizes()),
        classes - 1);
  }
  return OkStatus();
}

Status TryOutUnguarded(Model::State& model, const std::optional<Loss>& loss, const Dataset& data,
                       const Batch& batch) {
  const uint64_t rows = static_cast<uint64_t>(batch.targets.size(0));
  if (!loss) {
    const Status status = CatchTorch([&]() -> Status {
      const at::Tensor value = model.net->Loss(batch.inputs, batch.targets);
      if (value.numel() == 1) return OkStatus();
      return InvalidArgument("it returns shape {}, want a scalar", ShapeText(value.sizes()));
    });
    if (status.ok()) return OkStatus();
    return AsMistake(status, fmt::format("the model's loss does not accept {} and targets of {}",
                                         InputsText(data, rows), DataText(data.targets(), rows)));
  }

  at::Tensor outputs;
  const Status forward = CatchTorch([&]() -> Status {
    const Outputs given = model.net->Forward(batch.inputs);
    outputs = given.tensor;
    if (outputs.defined()) return OkStatus();
    return InvalidArgument("it gives no outputs but {}", given.from);
  });
  if (!forward.ok()) {
    return AsMistake(forward, "the model does not accept " + InputsText(data, rows));
  }
  const Status fits = CatchTorch([&]() -> Status {
    // A class beyond the outputs would stop the loss itself, with less to say.
    if (*loss == Loss::kCrossEntropy && AreClasses(outputs, batch.targets))
      PACELINE_RETURN_IF_ERROR(CheckClasses(data, outputs));
    ComputeLoss(*loss, outputs, batch.targets);
    return OkStatus();
  });
  return fits.ok() ? fits : AsMistake(fits, data.targets().name);
}

}  // namespace

ExecutionScope::ExecutionScope(int threads)
    : script_optimizer_(SetScriptOptimizer(ScriptOptimizer::kOff)) {
  if (at::get_num_threads() != threads) at::set_num_threads(threads);
}

ExecutionScope::~ExecutionScope() { SetScriptOptimizer(script_optimizer_); }

Computed Compute(Net& net, const std::optional<Loss>& loss, const Batch& batch) {
  if (!loss) return {net.Loss(batch.inputs, batch.targets), {}};
  Outputs outputs = net.Forward(batch.inputs);
  TORCH_CHECK_VALUE(outputs.tensor.defined(), "the model gives no outputs but ", outputs.from);
  return {ComputeLoss(*loss, outputs.tensor, batch.targets), std::move(outputs)};
}

void StepFigures::Add(const Computed& computed, const at::Tensor& targets, double share) {
  micro_batches_.push_back({.loss = computed.loss.detach(),
                            .correct = CorrectOf(computed.outputs.tensor, targets),
                            .targets = static_cast<uint64_t>(targets.numel()),
                            .share = share});
}

StepFigures::Read StepFigures::Get() const {
  Read read;
  for (const MicroBatch& one : micro_batches_) {
    read.loss += one.share * one.loss.item<double>();
    if (!one.correct.defined()) continue;
    read.judged.correct += static_cast<uint64_t>(one.correct.item<int64_t>());
    read.judged.judged += one.targets;
  }
  return read;
}

namespace {

Status TryOutMetrics(Model::State& model, const Dataset& data, const Batch& batch) {
  const Status status = CatchTorch([&]() -> Status {
    model.net->Metrics(batch.inputs, batch.targets);
    return OkStatus();
  });
  if (status.ok()) return status;
  const auto rows = static_cast<uint64_t>(batch.targets.size(0));
  return AsMistake(status, fmt::format("the model's metrics does not accept {} and targets of {}",
                                       InputsText(data, rows), DataText(data.targets(), rows)));
}

// What `run` makes of the first samples; the model is left as it was.
Status OnFirstSamples(Model::State& model, const Dataset& data,
                      const std::function<Status(const Batch&)>& run) {
  return CatchTorch([&]() -> Status {
    const at::NoGradGuard no_grad;
    const std::vector<uint32_t> samples =
        data.samples() > 1 ? std::vector<uint32_t>{0, 1} : std::vector<uint32_t>{0};
    model.net->SetMode(NetMode::kEvaluation);
    const at::Tensor before = model.values.clone();
    const Status status = run(GatherBatch(data, samples, model.device));
    model.net->KeepBuffers(model.buffers);
    model.values.copy_(before);
    return status;
  });
}

}  // namespace

Status TryOut(Model::State& model, const std::optional<Loss>& loss, const Dataset& data,
              Precision precision) {
  if (loss && data.targets().type() != TargetType(*loss)) {
    return InvalidArgument("loss {} wants targets of {}: got {}", Name(*loss),
                           Name(TargetType(*loss)), DataText(data.targets(), data.samples()));
  }
  const Status status = OnFirstSamples(model, data, [&](const Batch& batch) {
    const AutocastScope autocast(precision, model.device);
    return TryOutUnguarded(model, loss, data, batch);
  });
  if (status.ok() || precision == Precision::kFloat32) return status;
  return Annotate(status, fmt::format("training.precision {}", Name(precision)));
}

Status TryOutEvaluation(Model::State& model, const std::optional<Loss>& loss, const Dataset& data) {
  PACELINE_RETURN_IF_ERROR(TryOut(model, loss, data));
  if (!model.net->HasMetrics(data.inputs().size())) return OkStatus();
  return OnFirstSamples(model, data,
                        [&](const Batch& batch) { return TryOutMetrics(model, data, batch); });
}

}  // namespace paceline::learn
