#include "operator/controller/pods/refused_pods.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace paceline::controller {

std::vector<job::Action> RefusedPods::Due(std::vector<job::Action> actions, Time now) {
  std::set<std::string> wanted;
  for (const job::Action& action : actions) {
    const auto* start = std::get_if<job::Start>(&action);
    if (start != nullptr && names_.contains(start->name)) wanted.insert(start->name);
  }
  names_ = std::move(wanted);
  asked_.clear();
  if (names_.empty()) {
    if (due_ && now >= *due_) due_.reset();
    return actions;
  }
  const bool is_due = !due_ || now >= *due_;
  std::erase_if(actions, [&](const job::Action& action) {
    const auto* start = std::get_if<job::Start>(&action);
    if (start == nullptr || !names_.contains(start->name)) return false;
    if (!is_due || !asked_.empty()) return true;
    asked_ = start->name;
    return false;
  });
  return actions;
}

void RefusedPods::Made(const std::string& name, Time now) {
  names_.erase(name);
  if (name == asked_) {  // Whatever stood in its way is gone; the others may go too.
    names_.clear();
    due_ = now;
    pause_ = Duration::zero();
  }
}

void RefusedPods::Refused(const std::string& name) { names_.insert(name); }

void RefusedPods::Pause(Time now, Duration at_least) {
  pause_ = std::clamp<Duration>(2 * pause_, kPauseMin, kPauseMax);
  due_ = now + std::max(pause_, at_least);
}

}  // namespace paceline::controller
