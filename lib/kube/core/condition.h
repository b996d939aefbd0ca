// Defines Condition, an entry of `status.conditions`, and the rule when its time changes.
//
// Example:
//   Json& conditions = object["status"]["conditions"];
//   SetCondition(conditions, {.type = "Ready", .status = ConditionStatus::kTrue,
//                             .reason = "AllUp", .observed_generation = Generation(object)}, now);
//   IsConditionTrue(object, "Ready");
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/time.h"
#include "lib/kube/core/json.h"

namespace paceline::kube {

enum class ConditionStatus { kTrue, kFalse, kUnknown };
std::string_view ToString(ConditionStatus status);  // "True", "False", "Unknown"

struct Condition {
  std::string type;
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;  // One CamelCase word; the API refuses an empty one.
  std::string message;
  int64_t observed_generation = 0;
  std::optional<Time>
      last_transition_time;  // From the Unix epoch; read only, SetCondition has the rule.
};

// Puts `condition` into the array `conditions` (null counts as empty), in place of the one of its
// type. lastTransitionTime is `now`, cut to seconds, if the status changed or is new, else it
// stays. Whether anything changed.
bool SetCondition(Json& conditions, const Condition& condition, Time now);

// Nothing if there is none of that type. `object` is a whole object with `status.conditions`.
std::optional<Condition> FindCondition(const Json& object, std::string_view type);
bool IsConditionTrue(const Json& object, std::string_view type);

}  // namespace paceline::kube
