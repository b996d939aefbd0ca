#include "lib/learn/execution.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "lib/learn/catch_torch.h"

namespace paceline::learn {
namespace {

at::Tensor GatherColumn(const Column& column, std::span<const uint32_t> samples,
                        const at::Device& device) {
  std::vector<int64_t> shape(1, static_cast<int64_t>(samples.size()));
  shape.insert(shape.end(), column.shape.begin(), column.shape.end());
  const auto type = column.type() == ElementType::kFloat32 ? at::kFloat : at::kLong;
  at::Tensor batch = at::empty(shape, at::TensorOptions(type).pinned_memory(device.is_cuda()));
  column.Gather(samples, static_cast<std::byte*>(batch.data_ptr()));
  return device.is_cuda() ? batch.to(device, /*non_blocking=*/true) : batch;
}

std::string DataText(const Column& column, uint64_t rows) {
  return fmt::format("shape {} of {} ({})", ShapeText(rows, column.shape), Name(column.type()),
                     column.name);
}

// Only lack of memory is no mistake of the caller's.
Status AsMistake(const Status& status, const std::string& context) {
  if (status.code() == StatusCode::kResourceExhausted) return Annotate(status, context);
  return InvalidArgument("{}: {}", context, Message(status));
}

Status CheckClasses(const Dataset& data, const at::Tensor& outputs) {
  const Column::Extent extent = data.targets().IntegerExtent();
  const int64_t classes = outputs.size(-1);
  if (extent.smallest >= 0 && extent.largest < classes) return OkStatus();
  return InvalidArgument(
      "{} has class {}, but the model's outputs of shape {} have classes 0 to {}",
      data.targets().name, extent.smallest < 0 ? extent.smallest : extent.largest,
      ShapeText(outputs.sizes()), classes - 1);
}

Status TryOutUnguarded(Model::State& model, const std::optional<Loss>& loss, const Dataset& data,
                       const Batch& batch) {
  const uint64_t rows = static_cast<uint64_t>(batch.inputs.size(0));
  if (!loss) {
    const Status status = CatchTorch([&]() -> Status {
      const at::Tensor value = model.net->Loss(batch.inputs, batch.targets);
      if (value.numel() == 1) return OkStatus();
      return InvalidArgument("it returns shape {}, want a scalar", ShapeText(value.sizes()));
    });
    if (status.ok()) return OkStatus();
    return AsMistake(status,
                     fmt::format("the model's loss does not accept inputs of {} and targets of {}",
                                 DataText(data.inputs(), rows), DataText(data.targets(), rows)));
  }

  at::Tensor outputs;
  const Status forward = CatchTorch([&]() -> Status {
    outputs = model.net->Forward(batch.inputs);
    return OkStatus();
  });
  if (!forward.ok()) {
    return AsMistake(forward,
                     "the model does not accept inputs of " + DataText(data.inputs(), rows));
  }
  const Status fits = CatchTorch([&]() -> Status {
    if (*loss == Loss::kCrossEntropy && outputs.dim() > 0) {
      // A class beyond the outputs would stop the loss itself, with less to say.
      if (outputs.dim() == batch.targets.dim() + 1) {
        PACELINE_RETURN_IF_ERROR(CheckClasses(data, outputs));
      }
    }
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

Batch GatherBatch(const Dataset& data, std::span<const uint32_t> samples,
                  const at::Device& device) {
  return {GatherColumn(data.inputs(), samples, device),
          GatherColumn(data.targets(), samples, device)};
}

Computed Compute(Net& net, const std::optional<Loss>& loss, const Batch& batch) {
  if (!loss) return {net.Loss(batch.inputs, batch.targets), {}};
  const at::Tensor outputs = net.Forward(batch.inputs);
  return {ComputeLoss(*loss, outputs, batch.targets), outputs};
}

Totals EvaluateAll(Model::State& model, const std::optional<Loss>& loss, const Dataset& data,
                   uint64_t batch_size) {
  const at::NoGradGuard no_grad;
  model.Upload();
  model.net->SetMode(NetMode::kEvaluation);
  Totals totals;
  std::vector<uint32_t> samples;
  for (uint64_t begin = 0; begin < data.samples(); begin += batch_size) {
    samples.resize(std::min(batch_size, data.samples() - begin));
    std::iota(samples.begin(), samples.end(), static_cast<uint32_t>(begin));
    const Batch batch = GatherBatch(data, samples, model.device);
    Computed computed = Compute(*model.net, loss, batch);
    totals.loss_sum += computed.loss.item<double>() * static_cast<double>(samples.size());
    // A model with a loss of its own need not give outputs that can be judged.
    if (!loss) computed.outputs = model.net->Forward(batch.inputs);
    const Judged judged = CountCorrect(computed.outputs, batch.targets);
    totals.judged.correct += judged.correct;
    totals.judged.judged += judged.judged;
  }
  return totals;
}

Status TryOut(Model::State& model, const std::optional<Loss>& loss, const Dataset& data) {
  if (loss && data.targets().type() != TargetType(*loss)) {
    return InvalidArgument("loss {} wants targets of {}: got {}", Name(*loss),
                           Name(TargetType(*loss)), DataText(data.targets(), data.samples()));
  }
  return CatchTorch([&]() -> Status {
    const at::NoGradGuard no_grad;
    const std::vector<uint32_t> samples =
        data.samples() > 1 ? std::vector<uint32_t>{0, 1} : std::vector<uint32_t>{0};
    model.net->SetMode(NetMode::kEvaluation);
    const at::Tensor before = model.values.clone();
    const Status status =
        TryOutUnguarded(model, loss, data, GatherBatch(data, samples, model.device));
    model.net->KeepBuffers(model.buffers);
    model.values.copy_(before);
    return status;
  });
}

}  // namespace paceline::learn
