#include "lib/sync/schemes/dbw/late_arrivals.h"

#include <fmt/format.h>

namespace paceline::sync {

void LateArrivals::Began(Version version, uint32_t h, uint32_t members,
                         std::optional<Time> deadline, Time now) {
  const bool is_overdue = step_ && step_->deadline && now > *step_->deadline;
  // One that never closed has begun anew.
  if (step_ && step_->is_closed && step_->members == members && !is_overdue) return;
  step_ = Step{version, h, members, now, deadline, false, {}};
}

std::optional<LateArrivals::Arrival> LateArrivals::Pushed(WorkerId worker, Version based_on,
                                                          Time now) {
  if (!step_ || based_on < step_->version) return std::nullopt;
  if (step_->deadline && now > *step_->deadline) {
    step_.reset();
    return std::nullopt;
  }
  if (!step_->arrived.insert(worker).second) return std::nullopt;
  const Arrival arrival{step_->h, static_cast<uint32_t>(step_->arrived.size()),
                        ToSeconds(now - step_->began), step_->is_closed};
  if (arrival.rank >= step_->members) step_.reset();
  return arrival;
}

std::string LateArrivals::DebugString(Time now) const {
  if (!step_) return "";
  std::string text =
      fmt::format(" following {} of {} for {} s after {}{}:", step_->version, step_->members,
                  ToSeconds(now - step_->began), step_->h, step_->is_closed ? ", closed" : "");
  for (const WorkerId worker : step_->arrived) text += fmt::format(" {}", worker);
  if (step_->deadline) text += fmt::format(" until {}", ToSeconds(*step_->deadline - now));
  return text;
}

}  // namespace paceline::sync
