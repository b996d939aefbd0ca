#include "lib/store/shard.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
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

// So many accumulated pushes wait to be summed in the pass of the commit, which reads them once and
// writes no sum. Few: a commit that found all of them waiting would take longer, while the workers
// stand still.
constexpr size_t kWaitingMax = 2;
// A version of at least this size is not in the cache anyway when it is read.
constexpr uint64_t kStreamedBytes = 8 << 20;

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
  if (options.average_decay)
    PACELINE_RETURN_IF_ERROR(MovingAverage::Validate(*options.average_decay));
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

// Where there is nothing to share, whoever asks for it later is told why, and takes sockets.
std::unique_ptr<Region> MakeRegion(size_t size, Region::Others others) {
  StatusOr<std::unique_ptr<Region>> region = Region::Shareable(size, others);
  return region.ok() ? *std::move(region) : Region::Private(size, Message(region.status()));
}

}  // namespace

struct Shard::State {
  // An accumulated push that is not in the sum yet.
  struct Waiting {
    PushId id;
    float factor = 0;
    std::shared_ptr<const Region> bytes;
  };

  State(Options given, GroupedOptimizer made);

  // The next version's bytes from the current one's and the open sum. Return what Commit returns.
  std::vector<double> StepParameters(const CommitOrder& order, std::span<const std::byte> current,
                                     std::span<std::byte> next);
  // Puts the waiting pushes into the sum until only so many wait.
  void SumWaiting(size_t left = 0);
  // Of floats [begin, end): a push onto what is in `to`, or as the first one.
  static void Add(const Waiting& push, bool is_first, uint64_t begin, uint64_t end,
                  std::span<float> to);
  void SumBuffers(const Waiting& push, bool is_first);
  // The sum of a block of parameters with the waiting pushes in it: in `sum`, or in `scratch` where
  // all of them wait.
  std::span<const float> SumBlock(uint64_t begin, uint64_t end, std::span<float> scratch);
  void DoneWithWaiting();
  std::vector<double> AddDeltas(const CommitOrder& order, std::span<const std::byte> current,
                                std::span<std::byte> next);
  void ResetOptimizer();
  void TakeOuter(const std::optional<OuterStep>& step);
  void AverageBuffers(std::span<const std::byte> current, std::span<std::byte> next) const;

  const Options options;
  const SliceParts parts;
  StagingArea staging;
  VersionHistory versions;
  Recycler<Published> recycler;
  std::atomic<bool> is_open = false;
  std::shared_ptr<Published> initial;  // Null once open.
  std::shared_ptr<Published> kept;     // Of NewKept; null once open.

  // Of orders, which come one at a time.
  struct Answer {
    Version version;
    std::vector<double> block_squared_norms;
  };
  GroupedOptimizer optimizer;
  std::unique_ptr<MovingAverage> average;  // Null without one.
  std::optional<OuterStep> outer_step;     // Of the last commit...
  std::optional<GroupedOptimizer> outer;   // ...and what has its momentum; absent without one.
  std::vector<std::byte> sum;    // Arranged as the slice; of the accumulated that do not wait.
  bool has_sum = false;          // There is such a one.
  std::vector<Waiting> waiting;  // In the order of accumulation.
  double weight = 0;             // Of all in the sum.
  std::set<PushId> accumulated;
  std::set<PushId>
      accumulated_before;  // In the round of `last_commit`, whose order may be repeated.
  std::optional<Answer> last_commit;
};

Shard::State::State(Options given, GroupedOptimizer made)
    : options(std::move(given)),
      parts(PartsOf(options.layout, options.slice)),
      staging({.slice_bytes = options.slice.size_bytes(),
               .slots_per_worker = options.slots_per_worker,
               .workers_max = options.workers_max,
               .judge = [parts = parts](
                            std::span<const std::byte> push) { return Judge(push, parts); }}),
      recycler(
          [size = options.slice.size_bytes(), meter = options.meter,
           others = options.is_shareable ? Region::Others::kRead : Region::Others::kNobody] {
            Count(meter, 1);
            return std::make_unique<Published>(MakeRegion(size, others));
          },
          2),
      initial(recycler.Take()),
      optimizer(std::move(made)),
      sum(options.slice.size_bytes()) {
  // The two more that a steady run needs, so that no commit meets fresh pages.
  const auto second = recycler.Take();
  const auto third = recycler.Take();
  if (options.average_decay)
    average = std::make_unique<MovingAverage>(*options.average_decay, parts,
                                              [this] { return recycler.Take(); });
}

std::vector<double> Shard::State::StepParameters(const CommitOrder& order,
                                                 std::span<const std::byte> current,
                                                 std::span<std::byte> next) {
  TakeOuter(std::nullopt);
  optimizer.LeaveOut(order.without_gradient);
  optimizer.SetRatios(order.trust_ratios);
  const optim::StepOptions step{.gradient_scale = order.gradient_scale * order.clip_scale,
                                .learning_rate = order.learning_rate};
  const double square = order.gradient_scale * order.gradient_scale;
  std::vector<double> norms;
  const bool is_streamed = parts.parameters_end >= kStreamedBytes;
  std::vector<float> summed(kBlockBytes / sizeof(float)), stepped(summed.size());
  // Block by block: each thing that is done finds in the cache what the one before has left there.
  for (uint64_t begin = 0; begin < parts.parameters_end; begin += kBlockBytes) {
    const uint64_t end = std::min(begin + kBlockBytes, parts.parameters_end);
    const std::span<const float> block_sum = SumBlock(begin, end, summed);
    norms.push_back(SquaredNorm(block_sum) * square);
    Count(options.meter, 1);
    const std::span<float> block_next = View<float>(next, begin, end);
    const std::span<float> into =
        is_streamed ? std::span(stepped).first(block_next.size()) : block_next;
    optimizer.StepPart(begin / sizeof(float), View<float>(current, begin, end), block_sum, step,
                       into);
    if (is_streamed) StreamCopy(into, block_next);
    if (average != nullptr) average->Take(begin, into);
  }
  optimizer.FinishStep();
  DoneWithWaiting();
  return norms;
}

void Shard::State::Add(const Waiting& push, bool is_first, uint64_t begin, uint64_t end,
                       std::span<float> to) {
  const auto from = View<float>(push.bytes->bytes(), begin, end);
  if (is_first) {
    SetWeighted(from, push.factor, to);
  } else {
    AddWeighted(from, push.factor, to);
  }
}

void Shard::State::SumBuffers(const Waiting& push, bool is_first) {
  const std::span<std::byte> to(sum);
  Add(push, is_first, parts.parameters_end, parts.floats_end,
      View<float>(to, parts.parameters_end, parts.floats_end));
  const auto integers = View<int64_t>(push.bytes->bytes(), parts.integers_begin, parts.end);
  const auto largest = View<int64_t>(to, parts.integers_begin, parts.end);
  if (is_first) {
    std::copy(integers.begin(), integers.end(), largest.begin());
  } else {
    KeepLargest(integers, largest);
  }
}

void Shard::State::SumWaiting(size_t left) {
  while (waiting.size() > left) {
    const Waiting push = std::move(waiting.front());
    waiting.erase(waiting.begin());
    Add(push, !has_sum, 0, parts.parameters_end,
        View<float>(std::span<std::byte>(sum), 0, parts.parameters_end));
    SumBuffers(push, !has_sum);
    has_sum = true;
    staging.Finish(push.id);
  }
}

std::span<const float> Shard::State::SumBlock(uint64_t begin, uint64_t end,
                                              std::span<float> scratch) {
  const std::span<float> summed = View<float>(std::span<std::byte>(sum), begin, end);
  const std::span<float> to = has_sum ? summed : scratch.first(summed.size());
  bool is_first = !has_sum;
  for (const Waiting& push : waiting) Add(push, std::exchange(is_first, false), begin, end, to);
  return to;
}

void Shard::State::DoneWithWaiting() {
  for (const Waiting& push : waiting) {
    SumBuffers(push, !std::exchange(has_sum, true));
    staging.Finish(push.id);
  }
  waiting.clear();
}

std::vector<double> Shard::State::AddDeltas(const CommitOrder& order,
                                            std::span<const std::byte> current,
                                            std::span<std::byte> next) {
  SumWaiting();
  ResetOptimizer();
  TakeOuter(order.outer);
  if (outer) outer->LeaveOut(order.without_gradient);
  const double square = order.gradient_scale * order.gradient_scale;
  std::vector<double> norms;
  for (uint64_t begin = 0; begin < parts.parameters_end; begin += kBlockBytes) {
    const uint64_t end = std::min(begin + kBlockBytes, parts.parameters_end);
    const auto block_sum = View<float>(std::span<const std::byte>(sum), begin, end);
    const std::span<float> block_next = View<float>(next, begin, end);
    norms.push_back(SquaredNorm(block_sum) * square);
    Count(options.meter, 1);
    if (outer) {
      outer->StepPart(
          begin / sizeof(float), View<float>(current, begin, end), block_sum,
          {.gradient_scale = -order.gradient_scale, .learning_rate = order.outer->learning_rate},
          block_next);
    } else {
      std::copy(current.begin() + begin, current.begin() + end, next.begin() + begin);
      AddWeighted(block_sum, static_cast<float>(order.gradient_scale), block_next);
    }
    if (average != nullptr) average->Take(begin, block_next);
  }
  if (outer) outer->FinishStep();
  return norms;
}

// Another rate, or none of the three changed: the momentum stays.
void Shard::State::TakeOuter(const std::optional<OuterStep>& step) {
  const std::optional<OuterStep> before = std::exchange(outer_step, step);
  if (!step) return outer.reset();
  if (outer && before->momentum == step->momentum && before->is_nesterov == step->is_nesterov)
    return;
  auto made = GroupedOptimizer::Create(
      optim::SgdOptions{.momentum = step->momentum, .is_nesterov = step->is_nesterov}, {},
      options.layout, options.slice);
  PACELINE_CHECK(made.ok(), "the order was judged: {}", Message(made.status()));
  outer.emplace(*std::move(made));
}

void Shard::State::ResetOptimizer() {
  if (optimizer.optimizer().steps() > 0) optimizer.Reset();
}

void Shard::State::AverageBuffers(std::span<const std::byte> current,
                                  std::span<std::byte> next) const {
  if (weight == 0) {  // No push is of any sample.
    const std::span<const std::byte> buffers = current.subspan(parts.parameters_end);
    std::copy(buffers.begin(), buffers.end(), next.begin() + parts.parameters_end);
    return;
  }
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
  PACELINE_ASSIGN_OR_RETURN(GroupedOptimizer optimizer,
                            GroupedOptimizer::Create(options.optimizer, options.parameter_groups,
                                                     options.layout, options.slice));
  return std::unique_ptr<Shard>(
      new Shard(std::make_unique<State>(std::move(options), std::move(optimizer))));
}

std::span<std::byte> Shard::initial_values() {
  if (state_->initial == nullptr) return {};
  return state_->initial->bytes();
}

std::span<std::byte> Shard::NewKept(Version version) {
  PACELINE_CHECK(state_->initial != nullptr && state_->kept == nullptr, "kept {} too late",
                 version);
  state_->kept = state_->recycler.Take();
  state_->kept->version = version;
  return state_->kept->bytes();
}

Status Shard::Open(Version first) {
  if (state_->initial == nullptr) return FailedPrecondition("shard is open already");
  const std::span<const std::byte> bytes = std::as_const(*state_->initial).bytes();
  const TensorPlace* const bad =
      FirstNonFinite(layout(), slice(), View<float>(bytes, 0, state_->parts.parameters_end));
  if (bad != nullptr)
    return InvalidArgument("initial values must be finite: tensor {} is not", bad->spec.name);
  const bool is_first_kept = state_->kept != nullptr && state_->kept->version == first;
  if (state_->kept != nullptr && state_->kept->version > first)
    return InvalidArgument("kept {} is newer than the first one, {}", state_->kept->version, first);
  state_->initial->version = first;
  if (state_->average != nullptr) {
    state_->average->Start(*state_->initial);
    if (state_->kept != nullptr) state_->average->Keep(state_->kept);
  }
  if (state_->kept != nullptr && !is_first_kept)
    state_->versions.Publish(std::move(state_->kept), true);
  state_->kept.reset();
  state_->versions.Publish(std::move(state_->initial), is_first_kept);
  state_->is_open = true;
  return OkStatus();
}

StatusOr<Staging> Shard::Stage(const PushId& id, const std::shared_ptr<const PushMemory>& memory) {
  if (!state_->is_open)
    return FailedPrecondition("shard is not open yet: {} came too early", ToString(id));
  return state_->staging.Stage(id, memory);
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
  if (!std::isfinite(factor) || !(factor >= 0)) {
    return InvalidArgument("weight must be finite and not negative: got {} for {}", weight,
                           ToString(id));
  }
  const std::shared_ptr<const Region> push = state.staging.Begin(id);
  if (push == nullptr) return NotFound("push is not staged: {}", ToString(id));
  if (state.accumulated.empty()) state.weight = 0;
  state.weight += weight;
  state.accumulated.insert(id);
  state.waiting.push_back({id, factor, push});
  state.staging.Defer(id);
  state.SumWaiting(kWaitingMax);
  Count(state.options.meter, 1);
  return OkStatus();
}

void Shard::Drop(const PushId& id) { state_->staging.Drop(id); }
void Shard::Forget(WorkerId worker, Incarnation last) { state_->staging.Forget(worker, last); }

std::vector<double> Shard::SumBlockNorms() const {
  if (state_->accumulated.empty()) {
    return std::vector<double>((state_->parts.parameters_end + kBlockBytes - 1) / kBlockBytes);
  }
  state_->SumWaiting();
  return BlockSquaredNorms(state_->sum, state_->parts);
}

std::vector<TensorNorms> Shard::PrepareNorms(double gradient_scale, double clip_scale) const {
  State& state = *state_;
  if (!state.optimizer.is_layer_wise() || state.accumulated.empty()) return {};
  state.SumWaiting();
  const std::shared_ptr<const Published> current = Newest();
  const optim::StepOptions step{.gradient_scale = gradient_scale * clip_scale};
  std::vector<TensorNorms> norms;
  for (uint64_t begin = 0; begin < state.parts.parameters_end; begin += kBlockBytes) {
    const uint64_t end = std::min(begin + kBlockBytes, state.parts.parameters_end);
    state.optimizer.Norms(begin / sizeof(float), View<float>(current->bytes(), begin, end),
                          View<float>(std::span<const std::byte>(state.sum), begin, end), step,
                          norms);
    Count(state.options.meter, 1);
  }
  return norms;
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
  if (state.optimizer.is_layer_wise() && order.kind == PushKind::kGradient &&
      order.trust_ratios.empty())
    return InvalidArgument("trust ratios are missing: commit of {}", order.version);
  for (const TrustRatio& ratio : order.trust_ratios) {
    if (!std::isfinite(ratio.ratio))
      return InvalidArgument("trust ratios must be finite: got {} for tensor {}", ratio.ratio,
                             ratio.tensor);
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
  std::unique_lock<std::mutex> average_turn;
  if (state.average != nullptr) average_turn = state.average->Begin(order.version, order.is_pinned);
  std::vector<double> norms = order.kind == PushKind::kDelta
                                  ? state.AddDeltas(order, current->bytes(), next->bytes())
                                  : state.StepParameters(order, current->bytes(), next->bytes());
  state.AverageBuffers(current->bytes(), next->bytes());
  if (state.average != nullptr) state.average->End(next->bytes());
  state.versions.Publish(next, order.is_pinned);
  state.accumulated_before = std::exchange(state.accumulated, {});
  state.has_sum = false;
  state.last_commit = State::Answer{order.version, norms};
  return norms;
}

void Shard::Unpin(Version version) {
  state_->versions.Unpin(version);
  if (state_->average != nullptr) state_->average->Unpin(version);
}
GroupedOptimizer& Shard::optimizer() { return state_->optimizer; }
MovingAverage* Shard::average() { return state_->average.get(); }

StatusOr<std::shared_ptr<const Published>> Shard::Get(Version version) const {
  return state_->versions.Get(version);
}
std::shared_ptr<const Published> Shard::Newest() const { return state_->versions.Newest(); }

StatusOr<std::shared_ptr<const Published>> Shard::AverageOf(const Published& version) const {
  if (state_->average == nullptr)
    return InvalidArgument("no average of the parameters is kept: spec.training.ema was absent");
  return state_->average->Of(version);
}

const Layout& Shard::layout() const { return state_->options.layout; }
Slice Shard::slice() const { return state_->options.slice; }

}  // namespace paceline::store
