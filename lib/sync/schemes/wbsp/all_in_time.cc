#include "lib/sync/schemes/wbsp/all_in_time.h"

#include <variant>

#include <fmt/format.h>

#include "lib/sync/schemes/newest_mean.h"
#include "lib/sync/trace/fields.h"

namespace paceline::sync {

StatusOr<std::unique_ptr<Quorum>> AllInTime::Make(double factor, const std::string& saved) {
  std::optional<double> round_seconds;
  if (!saved.empty()) {
    Fields fields(saved);
    const auto name = fields.Next<std::string>("scheme");
    round_seconds = fields.Require<double>("round-seconds");
    const Status read = fields.Finish();
    if (name != "wbsp" || !read.ok() || !(*round_seconds >= 0))
      return DataLoss("saved policy state is not WBSP's: {}", saved);
  }
  return std::unique_ptr<Quorum>(new AllInTime(factor, round_seconds));
}

void AllInTime::Observe(const StepFact& fact, Time now) {
  if (std::holds_alternative<PushCounted>(fact)) has_pushes_ = true;
  if (std::holds_alternative<StepBegan>(fact) && !began_) began_ = now;
  if (!std::holds_alternative<StepClosed>(fact)) return;
  round_seconds_ = Mixed(round_seconds_.value_or(0), ToSeconds(now - began_.value_or(now)));
  began_ = now;
  has_pushes_ = false;
}

std::optional<Time> AllInTime::Deadline() const {
  if (!has_pushes_ || !began_ || !round_seconds_ || *round_seconds_ <= 0) return std::nullopt;
  return *began_ + Seconds(factor_ * *round_seconds_);
}

std::string AllInTime::Save() const {
  return round_seconds_ ? fmt::format("wbsp round-seconds={}", *round_seconds_) : "";
}

}  // namespace paceline::sync
