#include "operator/objects/job_file.h"

#include <vector>

#include "lib/base/json_text.h"
#include "lib/job/manifest/defaults.h"
#include "lib/job/manifest/encode.h"
#include "operator/objects/json_at.h"

namespace paceline::controller {
namespace {

const Json& Defaults() {
  static const Json* const defaults = [] {
    job::TrainingJob job;
    job::ApplyDefaults(job);
    return new Json(job::ToJson(job));
  }();
  return *defaults;
}

void LeaveOut(Json& object, const Json& before, const Json& defaults) {
  std::vector<std::string> unknown;
  for (auto& [name, value] : object.items()) {
    const Json& by_default = At(defaults, name);
    if (!before.contains(name)) {
      if (value == by_default) unknown.push_back(name);
    } else if (value.is_object() && before[name].is_object()) {
      LeaveOut(value, before[name], by_default);
    }
  }
  for (const std::string& name : unknown) object.erase(name);
}

}  // namespace

std::string JobFileFor(const std::string& before, const std::string& text) {
  const Json known = JsonOrNone(before);
  Json job = JsonOrNone(text);
  if (!known.is_object() || !job.is_object()) return text;
  LeaveOut(job, known, Defaults());
  return JsonText(job);
}

}  // namespace paceline::controller
