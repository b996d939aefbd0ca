#include "lib/store/shard.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/limits.h"
#include "lib/store/kernels.h"
#include "lib/store/recycler.h"
#include "lib/store/slice_parts.h"
#include "lib/store/staging.h"
#include "lib/store/versions.h"

namespace paceline::store {
namespace {

Status Validate(const Shard::Options& options) {
  const uint64_t total = options.layout.total_bytes();
  const Slice& slice = options.slice;
  if (total == 0) return InvalidArgument("layout has no tensors");
  if (slice.begin_bytes > slice.end_bytes || slice.end_bytes > total) {
    return InvalidArgument("slice must lie within the layout's {} bytes: got [{}, {})", total,
                           slice.begin_bytes, slice.end_bytes);
  }
  for (const uint64_t cut : {slice.begin_bytes, slice.end_bytes}) {
    if (cut % kBlockBytes != 0 && cut != total) {
      return InvalidArgument("slice must be cut at a multiple of {} bytes: got {}", kBlockBytes,
                             cut);
    }
  }
  if (options.slots_per_worker == 0 || options.slots_per_worker > limits::kStagingSlotsMax) {
    return InvalidArgument("slots per worker must be 1 to {}: got {}", limits::kStagingSlotsMax,
                           options.slots_per_worker);
  }
  if (options.workers_max == 0) return InvalidArgument("workers at most must be above 0: got 0");
  return OkStatus();
}

// The tensor that holds the first parameter that is not finite; null if all are.
const TensorPlace* FirstNonFinite(const Layout& layout, const Slice& slice,
                                  std::span<const float> parameters) {
  const auto bad =
      std::find_if(parameters.begin(), parameters.end(), [](float x) { return !std::isfinite(x); });
  if (bad == parameters.end()) return nullptr;
  const uint64_t offset = slice.begin_bytes + sizeof(float) * (bad - parameters.begin());
  for (const TensorPlace& place : layout.tensors()) {
    if (offset < place.offset_bytes + place.size_bytes) return &place;
  }
  return nullptr;
}

}  // namespace

struct Shard::State {
  State(Options given, std::unique_ptr<optim::Optimizer> made);

  // The next version's bytes from the current one's and the open sum. Return what Commit returns.
  std::vector<double> StepParameters(const CommitOrder& order, std::span<const std::byte> current,
                                     std::span<std::byte> next);
  std::vector<double> AddDeltas(const CommitOrder& order, std::span<const std::byte> current,
                                std::span<std::byte> next);
  void ResetOptimizer();
  void TakeOuter(const std::optional<OuterStep>& step);
  void AverageBuffers(std::span<std::byte> next) const;

  const Options options;
  const SliceParts parts;
  StagingArea staging;
  VersionHistory versions;
  Recycler<Published> recycler;
  std::atomic<bool> is_open = false;
  std::shared_ptr<Published> initial;  // Null once open.

  // Of orders, which come one at a time.
  struct Answer {
    Version version;
    std::vector<double> block_squared_norms;
  };
  std::unique_ptr<optim::Optimizer> optimizer;
  std::optional<OuterStep> outer_step;      // Of the last commit...
  std::unique_ptr<optim::Optimizer> outer;  // ...and what has its momentum; null without one.
  std::vector<std::byte> sum;  // Arranged as the slice; means nothing while `accumulated` is empty.
  double weight = 0;           // Of all in the sum.
  std::set<PushId> accumulated;
  std::set<PushId>
      accumulated_before;  // In the round of `last_commit`, whose order may be repeated.
  std::optional<Answer> last_commit;
};

Shard::State::State(Options given, std::unique_ptr<optim::Optimizer> made)
    : options(std::move(given)),
      parts(PartsOf(options.layout, options.slice)),
      staging({.slice_bytes = options.slice.size_bytes(),
               .slots_per_worker = options.slots_per_worker,
               .workers_max = options.workers_max,
               .judge = [parts = parts](
                            std::span<const std::byte> push) { return Judge(push, parts); }}),
      recycler(
          [size = options.slice.size_bytes(), meter = options.meter] {
            Count(meter, 1);
            auto published = std::make_unique<Published>();
            published->bytes.resize(size);
            return published;
          },
          2),
      initial(recycler.Take()),
      optimizer(std::move(made)),
      sum(options.slice.size_bytes()) {
  // The two more that a steady run needs, so that no commit meets fresh pages.
  const auto second = recycler.Take();
  const auto third = recycler.Take();
}

std::vector<double> Shard::State::StepParameters(const CommitOrder& order,
                                                 std::span<const std::byte> current,
                                                 std::span<std::byte> next) {
  TakeOuter(std::nullopt);
  const optim::StepOptions step{.gradient_scale = order.gradient_scale * order.clip_scale,
                                .learning_rate = order.learning_rate};
  const double square = order.gradient_scale * order.gradient_scale;
  std::vector<double> norms;
  // Block by block: the optimizer finds in the cache what the norm has read.
  for (uint64_t begin = 0; begin < parts.parameters_end; begin += kBlockBytes) {
    const uint64_t end = std::min(begin + kBlockBytes, parts.parameters_end);
    const auto block_sum = View<float>(std::span<const std::byte>(sum), begin, end);
    norms.push_back(SquaredNorm(block_sum) * square);
    Count(options.meter, 1);
    optimizer->StepPart(begin / sizeof(float), View<float>(current, begin, end), block_sum, step,
                        View<float>(next, begin, end));
  }
  optimizer->FinishStep();
  return norms;
}

std::vector<double> Shard::State::AddDeltas(const CommitOrder& order,
                                            std::span<const std::byte> current,
                                            std::span<std::byte> next) {
  ResetOptimizer();
  TakeOuter(order.outer);
  const double square = order.gradient_scale * order.gradient_scale;
  std::vector<double> norms;
  for (uint64_t begin = 0; begin < parts.parameters_end; begin += kBlockBytes) {
    const uint64_t end = std::min(begin + kBlockBytes, parts.parameters_end);
    const auto block_sum = View<float>(std::span<const std::byte>(sum), begin, end);
    norms.push_back(SquaredNorm(block_sum) * square);
    Count(options.meter, 1);
    if (outer != nullptr) {
      outer->StepPart(
          begin / sizeof(float), View<float>(current, begin, end), block_sum,
          {.gradient_scale = -order.gradient_scale, .learning_rate = order.outer->learning_rate},
          View<float>(next, begin, end));
      continue;
    }
    std::copy(current.begin() + begin, current.begin() + end, next.begin() + begin);
    AddWeighted(block_sum, static_cast<float>(order.gradient_scale), View<float>(next, begin, end));
  }
  if (outer != nullptr) outer->FinishStep();
  return norms;
}

// Another rate, or none of the three changed: the momentum stays.
void Shard::State::TakeOuter(const std::optional<OuterStep>& step) {
  const std::optional<OuterStep> before = std::exchange(outer_step, step);
  if (!step) return outer.reset();
  if (outer != nullptr && before->momentum == step->momentum &&
      before->is_nesterov == step->is_nesterov)
    return;
  auto made = optim::MakeOptimizer(
      optim::SgdOptions{.momentum = step->momentum, .is_nesterov = step->is_nesterov},
      parts.parameters_end / sizeof(float));
  PACELINE_CHECK(made.ok(), "the order was judged: {}", Message(made.status()));
  outer = *std::move(made);
}

void Shard::State::ResetOptimizer() {
  if (optimizer->steps() == 0) return;
  for (const optim::Optimizer::StateTensor& tensor : optimizer->State())
    std::fill(tensor.values.begin(), tensor.values.end(), 0.0f);
  optimizer->set_steps(0);
}

void Shard::State::AverageBuffers(std::span<std::byte> next) const {
  const std::span<const std::byte> from(sum);
  Divide(View<float>(from, parts.parameters_end, parts.floats_end), static_cast<float>(weight),
         View<float>(next, parts.parameters_end, parts.floats_end));
  std::fill(next.begin() + parts.floats_end, next.begin() + parts.integers_begin, std::byte{0});
  std::copy(from.begin() + parts.integers_begin, from.end(), next.begin() + parts.integers_begin);
}

Shard::Shard(std::unique_ptr<State> state) : state_(std::move(state)) {}
Shard::~Shard() = default;

StatusOr<std::unique_ptr<Shard>> Shard::Create(Options options) {
  PACELINE_RETURN_IF_ERROR(Validate(options));
  const uint64_t elements = PartsOf(options.layout, options.slice).parameters_end / sizeof(float);
  PACELINE_ASSIGN_OR_RETURN(auto optimizer, optim::MakeOptimizer(options.optimizer, elements));
  return std::unique_ptr<Shard>(
      new Shard(std::make_unique<State>(std::move(options), std::move(optimizer))));
}

std::span<std::byte> Shard::initial_values() {
  if (state_->initial == nullptr) return {};
  return state_->initial->bytes;
}

Status Shard::Open(Version first) {
  if (state_->initial == nullptr) return FailedPrecondition("shard is open already");
  const std::span<const std::byte> bytes(state_->initial->bytes);
  const TensorPlace* const bad =
      FirstNonFinite(layout(), slice(), View<float>(bytes, 0, state_->parts.parameters_end));
  if (bad != nullptr)
    return InvalidArgument("initial values must be finite: tensor {} is not", bad->spec.name);
  state_->initial->version = first;
  state_->versions.Publish(std::move(state_->initial), false);
  state_->is_open = true;
  return OkStatus();
}

StatusOr<Staging> Shard::Stage(const PushId& id) {
  if (!state_->is_open)
    return FailedPrecondition("shard is not open yet: {} came too early", ToString(id));
  return state_->staging.Stage(id);
}

StatusOr<std::shared_ptr<const Receipt>> Shard::Seal(const PushId& id, uint64_t ticket,
                                                     std::optional<Receipt> judged) {
  return state_->staging.Seal(id, ticket, std::move(judged));
}

PushJudge Shard::NewJudge() const { return PushJudge(state_->parts); }

Status Shard::Accumulate(const PushId& id, double weight) {
  State& state = *state_;
  if (state.accumulated.contains(id) || state.accumulated_before.contains(id)) return OkStatus();
  const float factor = static_cast<float>(weight);
  if (!std::isfinite(factor) || !(factor > 0)) {
    return InvalidArgument("weight must be finite and positive: got {} for {}", weight,
                           ToString(id));
  }
  const std::shared_ptr<const std::vector<std::byte>> push = state.staging.Begin(id);
  if (push == nullptr) return NotFound("push is not staged: {}", ToString(id));
  const std::span<const std::byte> from(*push);
  const std::span<std::byte> to(state.sum);
  const SliceParts& parts = state.parts;
  if (state.accumulated.empty()) {
    SetWeighted(View<float>(from, 0, parts.floats_end), factor,
                View<float>(to, 0, parts.floats_end));
    std::copy(from.begin() + parts.integers_begin, from.end(), to.begin() + parts.integers_begin);
    state.weight = 0;
  } else {
    AddWeighted(View<float>(from, 0, parts.floats_end), factor,
                View<float>(to, 0, parts.floats_end));
    KeepLargest(View<int64_t>(from, parts.integers_begin, parts.end),
                View<int64_t>(to, parts.integers_begin, parts.end));
  }
  state.weight += weight;
  state.accumulated.insert(id);
  state.staging.Finish(id);
  Count(state.options.meter, 1);
  return OkStatus();
}

void Shard::Drop(const PushId& id) { state_->staging.Drop(id); }
void Shard::Forget(WorkerId worker, Incarnation last) { state_->staging.Forget(worker, last); }

std::vector<double> Shard::SumBlockNorms() const {
  if (state_->accumulated.empty()) {
    return std::vector<double>((state_->parts.parameters_end + kBlockBytes - 1) / kBlockBytes);
  }
  return BlockSquaredNorms(state_->sum, state_->parts);
}

StatusOr<std::vector<double>> Shard::Commit(const CommitOrder& order) {
  State& state = *state_;
  if (state.last_commit && state.last_commit->version == order.version)
    return state.last_commit->block_squared_norms;
  const std::shared_ptr<const Published> current = Newest();
  if (current == nullptr)
    return FailedPrecondition("shard is not open yet: commit of {}", order.version);
  if (order.version != current->version.Next()) {
    return FailedPrecondition("commit must publish {}: got {}", current->version.Next(),
                              order.version);
  }
  if (state.accumulated.empty())
    return FailedPrecondition("sum is empty: commit of {}", order.version);
  if (!std::isfinite(order.gradient_scale) || !std::isfinite(order.clip_scale) ||
      !std::isfinite(order.learning_rate)) {
    return InvalidArgument("scales must be finite: got gradient {}, clip {}, learning rate {}",
                           order.gradient_scale, order.clip_scale, order.learning_rate);
  }
  if (order.outer) {
    const OuterStep& outer = *order.outer;
    PACELINE_RETURN_IF_ERROR(optim::Validate(
        optim::SgdOptions{.momentum = outer.momentum, .is_nesterov = outer.is_nesterov}));
    if (!(outer.learning_rate > 0) || !std::isfinite(outer.learning_rate))
      return InvalidArgument("outer learning rate is {}, want more than 0", outer.learning_rate);
  }
  const std::shared_ptr<Published> next = state.recycler.Take();
  next->version = order.version;
  std::vector<double> norms = order.kind == PushKind::kDelta
                                  ? state.AddDeltas(order, current->bytes, next->bytes)
                                  : state.StepParameters(order, current->bytes, next->bytes);
  state.AverageBuffers(next->bytes);
  state.versions.Publish(next, order.is_pinned);
  state.accumulated_before = std::exchange(state.accumulated, {});
  state.last_commit = State::Answer{order.version, norms};
  return norms;
}

void Shard::Unpin(Version version) { state_->versions.Unpin(version); }
optim::Optimizer& Shard::optimizer() { return *state_->optimizer; }

StatusOr<std::shared_ptr<const Published>> Shard::Get(Version version) const {
  return state_->versions.Get(version);
}
std::shared_ptr<const Published> Shard::Newest() const { return state_->versions.Newest(); }

const Layout& Shard::layout() const { return state_->options.layout; }
Slice Shard::slice() const { return state_->options.slice; }

}  // namespace paceline::store
