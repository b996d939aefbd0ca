#include "lib/coordination/ledgers/checkpoint_cost.h"

#include <algorithm>

namespace paceline::coordination {

namespace {

constexpr int kMemory = 16;      // Steps that the mean step remembers.
constexpr int kLeastShare = 20;  // Of the time that writing takes, one part in so many.

}  // namespace

void CheckpointCost::Published(Time now) {
  if (window_.has_value()) {
    ++window_->steps;
    if (window_->ended.has_value()) {
      const Duration writing = *window_->ended - window_->began;
      cost_ = writing;
      if (step_.has_value()) {
        const Duration usual = *step_ * static_cast<int64_t>(window_->steps);
        cost_ = std::max(now - window_->from - usual, writing / kLeastShare);
      }
      window_.reset();
    }
  } else if (published_.has_value()) {
    const Duration took = now - *published_;
    step_ = step_.has_value() ? *step_ + (took - *step_) / kMemory : took;
  }
  published_ = now;
}

void CheckpointCost::Began(Time now) {
  window_ = Window{published_.value_or(now), now, std::nullopt, 0};
}

void CheckpointCost::Ended(Time now) {
  if (window_.has_value()) window_->ended = now;
}

void CheckpointCost::Interrupted() {
  window_.reset();
  published_.reset();
}

}  // namespace paceline::coordination
