#include "lib/sync/schemes/batching/narx.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace paceline::sync {
namespace {

constexpr double kCountMax = 256;
constexpr double kFurthest = 5;
constexpr double kSpreadMin = 1e-3;  // Of logs, shares and GiB alike: what varies less is constant.
constexpr double kBytesPerGib = 1 << 30;
constexpr size_t kRecordsMax = Narx::kExamplesMax + Narx::kSpeeds;

static_assert(Network::kInputs == Narx::kSpeeds + 2 * Narx::kReadings);

// Which examples a minibatch takes: a fixed scatter over them that differs from one to the next.
uint64_t Scattered(uint64_t number) {
  number = (number ^ (number >> 33)) * 0xff51afd7ed558ccd;
  number = (number ^ (number >> 33)) * 0xc4ceb9fe1a85ec53;
  return number ^ (number >> 33);
}

}  // namespace

void Scale::Add(double value) {
  count = std::min(count + 1, kCountMax);
  const double off = value - mean;
  mean += off / count;
  variance += (off * (value - mean) - variance) / count;
}

double Scale::Spread() const { return std::max(kSpreadMin, std::sqrt(std::max(0.0, variance))); }

double Scale::Of(double value) const {
  return std::clamp((value - mean) / Spread(), -kFurthest, kFurthest);
}

void Narx::Add(double speed, const Signals& signals) {
  Record record{.log_speed = std::log(speed), .cpu = signals.cpu_available, .memory = {}};
  speed_.Add(record.log_speed);
  if (record.cpu) cpu_.Add(*record.cpu);
  if (signals.memory_available) {
    record.memory = *signals.memory_available / kBytesPerGib;
    memory_.Add(*record.memory);
  }
  if (records_.size() < kRecordsMax) {
    records_.push_back(record);
  } else {
    records_[oldest_] = record;
    oldest_ = (oldest_ + 1) % kRecordsMax;
  }
  if (examples() > 0) trainings_due_ = kTrainingsPerStep;
}

Network::Inputs Narx::InputsBefore(size_t index) const {
  Network::Inputs inputs;
  size_t next = 0;
  for (size_t back = 1; back <= kSpeeds; ++back)
    inputs[next++] = speed_.Of(At(index - back).log_speed);
  // An unknown reading counts as the usual one.
  for (size_t back = 1; back <= kReadings; ++back) {
    const auto& cpu = At(index - back).cpu;
    inputs[next++] = cpu ? cpu_.Of(*cpu) : 0;
  }
  for (size_t back = 1; back <= kReadings; ++back) {
    const auto& memory = At(index - back).memory;
    inputs[next++] = memory ? memory_.Of(*memory) : 0;
  }
  return inputs;
}

std::optional<double> Narx::Predict() const {
  if (trainings_ == 0 || records_.size() < kSpeeds) return std::nullopt;
  const double predicted = std::exp(speed_.Back(network_.Predict(InputsBefore(records_.size()))));
  if (!std::isfinite(predicted) || predicted <= 0) return std::nullopt;
  return predicted;
}

void Narx::Train() {
  if (trainings_due_ == 0 || examples() == 0) return;
  --trainings_due_;
  std::array<Network::Example, kBatch> batch;
  for (size_t i = 0; i < kBatch; ++i) {
    const size_t index = kSpeeds + Scattered(seed_ + trainings_ * kBatch + i) % examples();
    batch[i] = {InputsBefore(index), speed_.Of(At(index).log_speed)};
  }
  network_.Train(batch);
  ++trainings_;
}

std::optional<Narx::Learnt> Narx::learnt() const {
  if (trainings_ == 0) return std::nullopt;
  return Learnt{speed_, cpu_, memory_, network_.weights()};
}

void Narx::Restore(const Learnt& learnt) {
  network_ = Network(learnt.weights);
  speed_ = learnt.speed;
  cpu_ = learnt.cpu;
  memory_ = learnt.memory;
  trainings_ = 1;
}

}  // namespace paceline::sync
