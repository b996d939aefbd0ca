#include "simulator/model/shared_link.h"

#include <cmath>
#include <functional>

namespace paceline::simulator {

SharedLink::SharedLink(double bytes_per_second) : bytes_per_second_(bytes_per_second) {}

void SharedLink::Advance(Time now) {
  if (!under_way_.empty() && bytes_per_second_ > 0)
    had_ += ToSeconds(now - at_) * bytes_per_second_ / static_cast<double>(under_way_.size());
  at_ = now;
}

void SharedLink::Begin(Time now, uint64_t transfer, double bytes) {
  Advance(now);
  if (under_way_.empty()) had_ = 0;  // Sums stay small, and exact.
  under_way_.emplace(had_ + (bytes_per_second_ > 0 ? bytes : 0), ++order_, transfer);
}

std::optional<Time> SharedLink::NextEnd() const {
  if (under_way_.empty()) return std::nullopt;
  const double bytes = std::get<0>(under_way_.top()) - had_;
  if (bytes <= 0) return at_;
  const double seconds = bytes * static_cast<double>(under_way_.size()) / bytes_per_second_;
  return at_ + Duration(static_cast<Duration::rep>(std::ceil(seconds * 1e9)));
}

std::optional<uint64_t> SharedLink::TakeEnded(Time now) {
  const std::optional<Time> end = NextEnd();
  if (!end || *end > now) return std::nullopt;
  Advance(now);
  const auto [had, order, transfer] = under_way_.top();
  under_way_.pop();
  return transfer;
}

}  // namespace paceline::simulator
