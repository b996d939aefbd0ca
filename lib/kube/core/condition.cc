#include "lib/kube/core/condition.h"

#include "lib/base/rfc3339.h"

namespace paceline::kube {
namespace {

ConditionStatus StatusFrom(const std::string& text) {
  if (text == "True") return ConditionStatus::kTrue;
  return text == "False" ? ConditionStatus::kFalse : ConditionStatus::kUnknown;
}

Json ToJson(const Condition& condition) {
  Json json = {{"type", condition.type},
               {"status", ToString(condition.status)},
               {"reason", condition.reason},
               {"message", condition.message}};
  if (condition.observed_generation != 0) {
    json["observedGeneration"] = condition.observed_generation;
  }
  return json;
}

}  // namespace

std::string_view ToString(ConditionStatus status) {
  switch (status) {
    case ConditionStatus::kTrue:
      return "True";
    case ConditionStatus::kFalse:
      return "False";
    case ConditionStatus::kUnknown:
      break;
  }
  return "Unknown";
}

bool SetCondition(Json& conditions, const Condition& condition, Time now) {
  if (!conditions.is_array()) conditions = Json::array();
  Json wanted = ToJson(condition);
  const Time whole(std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()));
  for (Json& held : conditions) {
    if (StringAt(held, "/type") != condition.type) continue;
    const std::string since = StringAt(held, "/lastTransitionTime");
    const bool keeps_time =
        StringAt(held, "/status") == ToString(condition.status) && !since.empty();
    wanted["lastTransitionTime"] = keeps_time ? since : FormatTime(whole);
    if (held == wanted) return false;
    held = std::move(wanted);
    return true;
  }
  wanted["lastTransitionTime"] = FormatTime(whole);
  conditions.push_back(std::move(wanted));
  return true;
}

std::optional<Condition> FindCondition(const Json& object, std::string_view type) {
  const Json* conditions = Find(object, "/status/conditions");
  if (conditions == nullptr || !conditions->is_array()) return std::nullopt;
  for (const Json& held : *conditions) {
    if (StringAt(held, "/type") != type) continue;
    return Condition{.type = std::string(type),
                     .status = StatusFrom(StringAt(held, "/status")),
                     .reason = StringAt(held, "/reason"),
                     .message = StringAt(held, "/message"),
                     .observed_generation = IntegerAt(held, "/observedGeneration"),
                     .last_transition_time = ParseTime(StringAt(held, "/lastTransitionTime"))};
  }
  return std::nullopt;
}

bool IsConditionTrue(const Json& object, std::string_view type) {
  const std::optional<Condition> condition = FindCondition(object, type);
  return condition.has_value() && condition->status == ConditionStatus::kTrue;
}

}  // namespace paceline::kube
