#include "lib/sync/schemes/batching/speed_predictor.h"

#include <algorithm>
#include <cmath>

namespace paceline::sync {

void RecentErrors::Add(double error) {
  if (squares_.size() < kWindow) {
    squares_.push_back(error * error);
  } else {
    squares_[oldest_] = error * error;
    oldest_ = (oldest_ + 1) % kWindow;
  }
}

double RecentErrors::Rms() const {
  if (squares_.empty()) return 0;
  double sum = 0;
  for (const double square : squares_) sum += square;
  return std::sqrt(sum / static_cast<double>(squares_.size()));
}

SpeedPredictor::SpeedPredictor(const Options& options) : options_(options) {
  if (options.has_network) network_.emplace(options.seed);
}

void SpeedPredictor::Measured(double speed, const Signals& signals) {
  const double log_speed = std::log(speed);
  // Both are judged on the same steps.
  if (is_known() && (network_says_ || !network_)) {
    mean_errors_.Add(log_speed - std::log(mean_));
    if (network_says_) network_errors_.Add(log_speed - std::log(*network_says_));
  }
  mean_ =
      is_known() ? (1 - options_.newest_weight) * mean_ + options_.newest_weight * speed : speed;
  measured_ = speed;
  if (network_) network_->Add(speed, signals);
  Predict();
}

void SpeedPredictor::Predict() {
  predicted_ = mean_;
  uses_network_ = false;
  network_says_.reset();
  if (!network_) return;
  if (const std::optional<double> says = network_->Predict())
    network_says_ = std::clamp(*says, kLeast * mean_, kMost * mean_);
  const bool is_proven = network_->examples() >= kStepsBefore &&
                         network_errors_.count() == RecentErrors::kWindow &&
                         network_errors_.Rms() <= kWorseMax * mean_errors_.Rms();
  if (!network_says_ || !is_proven) return;
  predicted_ = *network_says_;
  uses_network_ = true;
}

void SpeedPredictor::Restore(double mean, const std::optional<Narx::Learnt>& learnt) {
  mean_ = mean;
  if (network_ && learnt) network_->Restore(*learnt);
  Predict();
}

}  // namespace paceline::sync
