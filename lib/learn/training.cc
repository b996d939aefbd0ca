#include "lib/learn/training.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include "lib/base/epoch_order.h"
#include "lib/base/next_ranges.h"
#include "lib/learn/autocast.h"
#include "lib/learn/catch_torch.h"
#include "lib/learn/data/batches.h"
#include "lib/learn/evaluating.h"
#include "lib/learn/execution.h"
#include "lib/learn/loss_scaler.h"
#include "lib/learn/starting_values.h"

namespace paceline::learn {

struct Training::State {
  State(const TrainingOptions& options_in, std::unique_ptr<Model> model_in, Dataset train_in)
      : options(options_in),
        model(std::move(model_in)),
        train(std::move(train_in)),
        batches(&train, options.prefetch_batches, MakeBatchCarrier(model->state().device)),
        next(train.samples()),
        order(train.samples(), options.seed) {
    if (options.precision == Precision::kFloat16) scaler.emplace();
  }

  TrainingOptions options;
  std::unique_ptr<Model> model;
  std::optional<Loss> loss;  // Without it the model's own counts.
  Dataset train;
  std::optional<Dataset> eval;
  std::optional<LossScaler> scaler;
  Batches batches;
  NextRanges next;
  EpochOrder order;
  std::vector<uint32_t> samples;  // Of the step that runs.

  void ExpectAfter(size_t first_size, uint64_t count);
};

namespace {

// All but the Cnn flatten their inputs.
bool Fits(const BuiltIn& built_in, const Column& inputs) {
  if (built_in.kind == BuiltInKind::kCnn) return inputs.shape == built_in.input_shape;
  uint64_t elements = 1;
  for (const int64_t size : built_in.input_shape) elements *= static_cast<uint64_t>(size);
  return inputs.row_elements() == elements;
}

StatusOr<std::unique_ptr<Model>> MakeModel(const TrainingOptions& options, const Dataset& train) {
  PACELINE_ASSIGN_OR_RETURN(const Device device, ParseDevice(options.device));
  if (options.model_path.empty() == !options.built_in) {
    return InvalidArgument("want either model_path or built_in, {}",
                           options.built_in ? "got both" : "got none");
  }
  if (!options.built_in) return Model::Load(options.model_path, device);
  BuiltIn built_in = *options.built_in;
  if (train.inputs().size() > 1) {
    return InvalidArgument("a built-in model takes one tensor of inputs: got {} of them",
                           train.inputs().size());
  }
  const Column& inputs = train.inputs().front();
  if (built_in.input_shape.empty()) built_in.input_shape = inputs.shape;
  if (!Fits(built_in, inputs)) {
    return InvalidArgument("{}: a sample has shape {}, the model's input shape is {}", inputs.name,
                           ShapeText(inputs.shape), ShapeText(built_in.input_shape));
  }
  if (built_in.outputs == 0 && train.targets().type() == ElementType::kInt64) {
    built_in.outputs = train.targets().IntegerExtent().largest + 1;
  } else if (built_in.outputs == 0) {
    built_in.outputs = static_cast<int64_t>(train.targets().row_elements());
  }
  return Model::Make(built_in, options.seed, device);
}

StatusOr<std::unique_ptr<Model>> OpenModel(const TrainingOptions& options, const Dataset& train) {
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, MakeModel(options, train));
  if (!options.init_path.empty()) {
    PACELINE_RETURN_IF_ERROR(
        ReadStartingValues(options.init_path, model->layout(), model->values()));
  }
  if (options.is_frozen) PACELINE_RETURN_IF_ERROR(model->Freeze(options.is_frozen));
  return model;
}

StatusOr<std::optional<Loss>> ChooseLoss(const std::string& name, const Model& model) {
  if (name.empty() && model.has_loss()) return std::optional<Loss>();
  if (name.empty()) {
    return InvalidArgument("the model has no method loss(inputs, targets): name a loss, {}",
                           "CrossEntropy or MeanSquaredError");
  }
  PACELINE_ASSIGN_OR_RETURN(const Loss loss, ParseLoss(name));
  return std::optional<Loss>(loss);
}

// A smaller batch is gathered sooner than a thread wakes up.
constexpr uint64_t kBytesWorthAThread = uint64_t{64} << 10;

uint64_t MicroBatches(uint64_t samples, uint64_t size_max) {
  return size_max == 0 ? 1 : (samples + size_max - 1) / size_max;
}

// The part of `samples` that micro-batch `index` of `count` holds. Sizes differ by one at most, so
// that no last one is too small for statistics over a batch.
std::span<const uint32_t> MicroBatch(std::span<const uint32_t> samples, uint64_t index,
                                     uint64_t count) {
  const uint64_t begin = samples.size() * index / count;
  return samples.subspan(begin, samples.size() * (index + 1) / count - begin);
}

// Batch norm that is to train on one sample: there is nothing to compare its values with.
bool IsRefusalOfOneSample(const std::exception& error) {
  return std::string_view(error.what())
             .find("Expected more than 1 value per channel when training") !=
         std::string_view::npos;
}

std::vector<at::Tensor> Copies(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors)
    copies.push_back(tensor.defined() ? tensor.clone() : tensor);
  return copies;
}

void PutBack(const std::vector<at::Tensor>& values, Model::State& model) {
  model.net->KeepBuffers(model.buffers);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].defined()) model.buffers[i].copy_(values[i]);
  }
}

// Batches of one sample come by themselves: the last one may be, and one that may have ended a
// worker is tried alone. Batch norm then takes what it has learnt, as its evaluation does.
StatusOr<Computed> ComputeIn(Precision precision, Model::State& model,
                             const std::optional<Loss>& loss, const Batch& batch,
                             bool& took_statistics) {
  const AutocastScope autocast(precision, model.device);
  const std::vector<at::Tensor> before =
      batch.targets.size(0) == 1 ? Copies(model.buffers) : std::vector<at::Tensor>();
  try {
    return Compute(*model.net, loss, batch);
  } catch (const std::exception& error) {
    if (!IsRefusalOfOneSample(error) || before.empty()) throw;
  }
  PutBack(before, model);  // It has counted the batch before it refused.
  if (!model.net->TakeLearntStatistics()) {
    return FailedPrecondition(
        "give batch norm two samples or more: spec.training.globalBatchSize of two for each "
        "worker; or use GroupNorm or LayerNorm, which need one");
  }
  took_statistics = true;
  Computed computed = Compute(*model.net, loss, batch);
  model.net->SetMode(NetMode::kTraining);
  return computed;
}

// In float32, where the model's own method left it in less: a scale would overflow there.
at::Tensor Scaled(const at::Tensor& loss, double factor) {
  if (factor == 1) return loss;
  const bool is_reduced = loss.scalar_type() == at::kHalf || loss.scalar_type() == at::kBFloat16;
  return (is_reduced ? loss.to(at::kFloat) : loss).mul(factor);
}

Status Judge(LossScaler& scaler, bool is_loss_finite, bool are_gradients_finite) {
  const double scale = scaler.scale();
  if (scaler.Judge(is_loss_finite, are_gradients_finite) != LossScaler::Verdict::kOverflow)
    return OkStatus();
  return Aborted("gradients overflow at a loss scale of {:g}; the next one is {:g}", scale,
                 scaler.scale());
}

Status CollectSamples(std::span<const SampleRange> ranges, EpochOrder& order,
                      std::vector<uint32_t>& samples) {
  samples.clear();
  for (const SampleRange& range : ranges) {
    if (range.end < range.begin) {
      return InvalidArgument("range ends before it begins: [{}, {})", range.begin, range.end);
    }
    if (range.end > order.samples()) {
      return OutOfRange("range [{}, {}) passes the training set: it has {} samples", range.begin,
                        range.end, order.samples());
    }
    const auto part = order.Epoch(range.epoch).subspan(range.begin, range.end - range.begin);
    samples.insert(samples.end(), part.begin(), part.end());
  }
  if (samples.empty()) return InvalidArgument("a step has no sample");
  return OkStatus();
}

}  // namespace

// Micro-batches of the step that runs, and those of the next one, if it is to be guessed.
void Training::State::ExpectAfter(size_t first_size, uint64_t count) {
  const bool is_on_host = model->state().device.is_cpu();
  const uint64_t bytes = first_size * train.row_bytes();
  if (batches.ahead() == 0 || (is_on_host && bytes < kBytesWorthAThread)) return;
  std::vector<std::vector<uint32_t>> expected;
  const auto add = [&](std::span<const uint32_t> step, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; ++i) {
      const auto part = MicroBatch(step, i, to);
      expected.emplace_back(part.begin(), part.end());
    }
  };
  add(samples, 1, count);
  const std::vector<SampleRange> guess = next.Guess();
  std::vector<uint32_t> guessed;
  if (!guess.empty() && expected.size() < batches.ahead() &&
      CollectSamples(guess, order, guessed).ok())
    add(guessed, 0, MicroBatches(guessed.size(), options.micro_batch_size));
  batches.Expect(std::move(expected));
}

StatusOr<std::unique_ptr<Training>> Training::Create(const TrainingOptions& options) {
  if (options.threads < 1)
    return InvalidArgument("threads is {}, want at least 1", options.threads);
  if (options.eval_batch_size < 1) return InvalidArgument("eval_batch_size is 0, want at least 1");
  PACELINE_ASSIGN_OR_RETURN(Dataset train, Dataset::Open(options.train));
  const ExecutionScope scope(options.threads);
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, OpenModel(options, train));
  PACELINE_ASSIGN_OR_RETURN(const std::optional<Loss> loss, ChooseLoss(options.loss, *model));

  auto state = std::make_unique<State>(options, std::move(model), std::move(train));
  state->loss = loss;
  PACELINE_RETURN_IF_ERROR(TryOut(state->model->state(), loss, state->train, options.precision));
  if (options.eval) {
    PACELINE_ASSIGN_OR_RETURN(state->eval, Dataset::Open(*options.eval));
    PACELINE_RETURN_IF_ERROR(TryOutEvaluation(state->model->state(), loss, *state->eval));
  }
  at::manual_seed(options.seed);
  return std::unique_ptr<Training>(new Training(std::move(state)));
}

Training::Training(std::unique_ptr<State> state) : state_(std::move(state)) {}
Training::~Training() = default;

const store::Layout& Training::layout() const { return state_->model->layout(); }
uint64_t Training::train_samples() const { return state_->train.samples(); }
std::span<std::byte> Training::parameters() { return state_->model->values(); }
bool Training::ComputeOn(std::span<std::byte> values) {
  return state_->model->state().ComputeOn(values);
}
std::span<const std::byte> Training::push() const { return std::as_const(*state_->model).push(); }
DataCounts Training::data_counts() const { return state_->batches.counts(); }
void Training::Reseed(uint64_t seed) {
  state_->options.seed = seed;
  state_->order = EpochOrder(state_->train.samples(), seed);
  at::manual_seed(seed);
}
double Training::loss_scale() const { return state_->scaler ? state_->scaler->scale() : 0; }

StatusOr<StepResult> Training::Step(std::span<const SampleRange> ranges,
                                    const KeepGoing& keep_going, const HandPart& hand) {
  State& state = *state_;
  PACELINE_RETURN_IF_ERROR(CollectSamples(ranges, state.order, state.samples));
  state.next.See(ranges);
  const ExecutionScope scope(state.options.threads);
  Model::State& model = state.model->state();
  const uint64_t total = state.samples.size();
  const uint64_t count = MicroBatches(total, state.options.micro_batch_size);

  StatusOr<StepResult> result = CatchTorch([&]() -> StatusOr<StepResult> {
    model.net->SetMode(NetMode::kTraining);
    const std::optional<double> scale =
        state.scaler ? std::optional(state.scaler->scale()) : std::nullopt;
    model.BeginStep(scale);
    const auto is_wanted = [&] { return !keep_going || keep_going(); };
    StepFigures figures;
    bool took_statistics = false;
    for (uint64_t i = 0; i < count; ++i) {
      const Status given_up = Cancelled("step interrupted after {} of {} micro-batches", i, count);
      if (!is_wanted()) return given_up;
      const auto samples = MicroBatch(state.samples, i, count);
      const Batch batch = state.batches.Take(samples);
      if (i == 0) state.ExpectAfter(samples.size(), count);
      if (!is_wanted()) return given_up;
      PACELINE_ASSIGN_OR_RETURN(
          const Computed computed,
          ComputeIn(state.options.precision, model, state.loss, batch, took_statistics));
      const double share = static_cast<double>(samples.size()) / static_cast<double>(total);
      const bool is_last = i + 1 == count;
      if (!is_wanted() ||
          !model.backward->Run(Scaled(computed.loss, share * scale.value_or(1)), keep_going,
                               is_last ? model.HandTo(hand) : Backward::Hand()))
        return given_up;
      figures.Add(computed, batch.targets, share);
    }
    model.EndStep(hand);
    const StepFigures::Read read = figures.Get();
    if (state.scaler) {
      PACELINE_RETURN_IF_ERROR(
          Judge(*state.scaler, std::isfinite(read.loss), model.AreGradientsFinite()));
    }
    return StepResult{.loss = read.loss,
                      .samples = total,
                      .correct = read.judged.correct,
                      .judged = read.judged.judged,
                      .took_statistics = took_statistics,
                      .without_gradient = model.without_gradient()};
  });
  if (!result.ok()) model.AbandonStep();
  return result;
}

StatusOr<Evaluation> Training::Evaluate(const std::function<void()>& on_progress) {
  State& state = *state_;
  if (!state.eval) return FailedPrecondition("there is no held-out set to evaluate on");
  const ExecutionScope scope(state.options.threads);
  return CatchTorch([&]() -> StatusOr<Evaluation> {
    return EvaluateAll(state.model->state(), state.loss, *state.eval, state.options.eval_batch_size,
                       on_progress);
  });
}

}  // namespace paceline::learn
