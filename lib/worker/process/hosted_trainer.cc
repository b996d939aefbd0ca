#include "lib/worker/process/hosted_trainer.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/hash.h"
#include "lib/store/region.h"

namespace paceline::worker {

namespace {

// Two are open at most, and steps of the one before may still come.
constexpr size_t kEpochsKept = 4;

uint64_t DigestOf(std::span<const uint32_t> samples) {
  uint64_t hash = kHashSeed;
  for (const uint32_t sample : samples)
    for (int shift = 0; shift < 32; shift += 8)
      hash = HashByte(hash, static_cast<unsigned char>(sample >> shift));
  return hash;
}

}  // namespace

HostedTrainer::HostedTrainer(Options options)
    : options_(std::move(options)),
      drawn_(options_.sampler),
      order_(options_.train_samples, options_.seed),
      next_(std::max<uint64_t>(1, options_.train_samples)) {
  PACELINE_CHECK(options_.values.size() == options_.layout.total_bytes(), "{} bytes, layout has {}",
                 options_.values.size(), options_.layout.total_bytes());
  initial_.assign(options_.values.begin(), options_.values.end());
}

Status HostedTrainer::BeginAnew() {
  std::ranges::copy(initial_, options_.values.begin());
  return OkStatus();
}

bool HostedTrainer::computes_anywhere() const {
  return options_.window != nullptr && options_.window->can_show();
}

// The host writes to buffers: they are copied, and so are the parameters on their first page.
bool HostedTrainer::ComputeOn(const std::shared_ptr<rpc::VersionPlace>& place) {
  if (options_.window == nullptr) return false;
  if (place == nullptr) {
    options_.window->Own();
    return true;
  }
  const size_t parameter_bytes = options_.layout.parameter_bytes();
  const size_t shown_bytes = parameter_bytes - parameter_bytes % store::PagesFor(1);
  if (!options_.window->Show(place, shown_bytes)) return false;
  std::ranges::copy(place->bytes().subspan(shown_bytes),
                    options_.values.subspan(shown_bytes).begin());
  return true;
}

StatusOr<StepResult> HostedTrainer::Step(std::span<const protocol::SampleRange> ranges,
                                         StepControl& control) {
  std::unique_lock lock(mutex_);
  work_ = {
      .kind = HostedWork::Kind::kStep, .samples = {}, .ranges = {ranges.begin(), ranges.end()}};
  std::vector<EpochRange> seen;
  for (const protocol::SampleRange& range : ranges) {
    if (range.begin > range.end || range.end > options_.train_samples) {
      return OutOfRange("positions {} to {} of an epoch of {} samples", range.begin, range.end,
                        options_.train_samples);
    }
    seen.push_back({range.epoch, range.begin, range.end});
  }
  next_.See(seen);
  control_ = &control;
  is_handed_.assign(options_.layout.tensors().size(), false);
  saved_buffers_.assign(Buffers().begin(), Buffers().end());
  if (control.push() == nullptr) push_.resize(options_.layout.total_bytes());
  offered_ = options_.now();
  has_begun_ = false;
  paused_ = Duration::zero();
  control.EnterScript();
  const Status offered = Offer(lock);
  control_ = nullptr;
  if (!offered.ok()) return offered;
  if (step_.ok()) step_->paused = paused_;
  return std::exchange(step_, StepResult());
}

void HostedTrainer::Begin() {
  if (std::exchange(has_begun_, true)) return;
  const Duration gap = options_.now() - offered_;
  if (gaps_.IsPause(gap)) paused_ = gap;
  control_->LeaveScript();
}

bool HostedTrainer::IsDrawn(uint64_t epoch) const {
  return options_.sampler.empty() || drawn_samples_.contains(epoch);
}

bool HostedTrainer::Collect(const EpochRange& range, std::vector<uint32_t>& samples) {
  if (!IsDrawn(range.epoch)) return false;
  const std::span<const uint32_t> epoch = options_.sampler.empty()
                                              ? order_.Epoch(range.epoch)
                                              : std::span(drawn_samples_.at(range.epoch));
  const auto part = epoch.subspan(range.begin, range.end - range.begin);
  samples.insert(samples.end(), part.begin(), part.end());
  return true;
}

std::optional<uint64_t> HostedTrainer::CollectWork() {
  work_.samples.clear();
  for (const protocol::SampleRange& range : work_.ranges)
    if (!Collect({range.epoch, range.begin, range.end}, work_.samples)) return range.epoch;
  return std::nullopt;
}

Status HostedTrainer::Drew(uint64_t epoch, std::span<const uint32_t> samples) {
  if (samples.size() != options_.train_samples) {
    return InvalidArgument("the sampler {} drew {} positions for epoch {}, want {}",
                           options_.sampler, samples.size(), epoch, options_.train_samples);
  }
  {
    std::lock_guard lock(mutex_);
    drawn_samples_[epoch].assign(samples.begin(), samples.end());
    for (auto oldest = drawn_samples_.begin(); drawn_samples_.size() > kEpochsKept;)
      oldest = oldest->first == epoch ? std::next(oldest) : drawn_samples_.erase(oldest);
  }
  drawn_.Note({.epoch = epoch, .positions = samples.size(), .digest = DigestOf(samples)});
  return OkStatus();
}

std::vector<uint32_t> HostedTrainer::Expect(uint64_t ahead) {
  std::lock_guard lock(mutex_);
  std::vector<uint32_t> samples;
  for (const EpochRange& range : next_.Guess(ahead)) {
    if (options_.epochs != 0 && range.epoch >= options_.epochs) continue;
    if (!Collect(range, samples)) return {};  // What is not drawn yet nobody can read ahead.
  }
  return samples;
}

StatusOr<Evaluation> HostedTrainer::Evaluate(const std::function<void()>& on_progress) {
  std::unique_lock lock(mutex_);
  work_ = {.kind = HostedWork::Kind::kEvaluate, .samples = {}, .ranges = {}};
  on_progress_ = &on_progress;
  const Status offered = Offer(lock);
  on_progress_ = nullptr;
  if (!offered.ok()) return offered;
  return std::exchange(evaluation_, Evaluation());
}

Status HostedTrainer::Offer(std::unique_lock<std::mutex>& lock) {
  state_ = State::kOffered;
  changed_.notify_all();
  changed_.wait(
      lock, [this] { return state_ == State::kDone || (state_ == State::kOffered && is_closed_); });
  return std::exchange(state_, State::kIdle) == State::kDone
             ? OkStatus()
             : Cancelled("nobody computes any more");
}

HostedWork HostedTrainer::Next(Duration timeout) {
  std::unique_lock lock(mutex_);
  PACELINE_CHECK(state_ != State::kTaken, "the work before is not done");
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (changed_.wait_until(lock, deadline, [this] {
    return state_ == State::kOffered || is_over_;
  }) && state_ == State::kOffered) {
    if (control_ == nullptr || control_->MayGoOn()) {
      if (const std::optional<uint64_t> undrawn = CollectWork()) {
        return {.kind = HostedWork::Kind::kDraw, .samples = {}, .ranges = {}, .epoch = *undrawn};
      }
      state_ = State::kTaken;
      return work_;
    }
    step_ = Cancelled("not wanted any more");
    state_ = State::kDone;
    changed_.notify_all();
  }
  if (is_over_) return {.kind = HostedWork::Kind::kOver, .samples = {}, .ranges = {}};
  return {};
}

bool HostedTrainer::MayGoOn() {
  if (control_ != nullptr) return control_->MayGoOn();
  if (on_progress_ != nullptr && *on_progress_) (*on_progress_)();
  return true;
}

void HostedTrainer::Put(uint64_t offset_bytes, std::span<const std::byte> part) {
  if (part.empty()) return;
  if (rpc::BegunPush* const push = control_->push()) {
    push->Put(offset_bytes, part);
  } else {
    std::memcpy(push_.data() + offset_bytes, part.data(), part.size());
  }
}

Status HostedTrainer::Hand(size_t tensor, std::span<const std::byte> gradient) {
  const std::vector<store::TensorPlace>& tensors = options_.layout.tensors();
  if (tensor >= tensors.size() || tensors[tensor].spec.kind != store::TensorKind::kParameter)
    return InvalidArgument("a gradient of tensor {}, which is no parameter", tensor);
  const store::TensorPlace& place = tensors[tensor];
  if (is_handed_[tensor])
    return InvalidArgument("a second gradient of {} in one step", place.spec.name);
  if (gradient.size() != place.size_bytes) {
    return InvalidArgument("a gradient of {} bytes of {}, which has {}", gradient.size(),
                           place.spec.name, place.size_bytes);
  }
  Put(place.offset_bytes, gradient);
  is_handed_[tensor] = true;
  return OkStatus();
}

bool HostedTrainer::has_handed() const {
  return std::ranges::find(is_handed_, true) != is_handed_.end();
}

void HostedTrainer::EndStep(double loss, uint64_t samples, uint64_t correct) {
  PACELINE_CHECK(samples <= work_.samples.size(), "a step of {} samples is of {}",
                 work_.samples.size(), samples);
  if (samples == 0) std::ranges::copy(saved_buffers_, Buffers().begin());
  const std::vector<store::TensorPlace>& tensors = options_.layout.tensors();
  std::vector<std::byte> zeros;
  std::vector<uint32_t> without_gradient;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].spec.kind != store::TensorKind::kParameter || is_handed_[i]) continue;
    zeros.resize(std::max<size_t>(zeros.size(), tensors[i].size_bytes));
    Put(tensors[i].offset_bytes, std::span(zeros).first(tensors[i].size_bytes));
    without_gradient.push_back(static_cast<uint32_t>(i));
  }
  Put(options_.layout.parameter_bytes(), Buffers());
  std::unique_lock lock(mutex_);
  step_ = StepResult{.loss = samples == 0 ? 0 : loss,
                     .samples = work_.samples.size(),
                     .correct = samples == 0 ? 0 : correct,
                     .is_handed = control_->push() != nullptr,
                     .without_gradient = std::move(without_gradient),
                     .skipped = work_.samples.size() - samples};
  Done();
}

void HostedTrainer::GiveUpStep(const Status& why) {
  PACELINE_CHECK(!why.ok(), "given up without a reason");
  std::ranges::copy(saved_buffers_, Buffers().begin());
  std::unique_lock lock(mutex_);
  step_ = why;
  Done();
}

void HostedTrainer::EndEvaluation(StatusOr<Evaluation> evaluation) {
  std::unique_lock lock(mutex_);
  evaluation_ = std::move(evaluation);
  Done();
}

void HostedTrainer::Done() {
  PACELINE_CHECK(state_ == State::kTaken, "nothing is in work");
  state_ = State::kDone;
  changed_.notify_all();
}

void HostedTrainer::Close() {
  std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

void HostedTrainer::Over() {
  std::lock_guard lock(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

}  // namespace paceline::worker
