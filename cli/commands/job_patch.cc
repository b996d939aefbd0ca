#include "cli/commands/job_patch.h"

#include <array>
#include <string_view>
#include <utility>

#include "lib/job/checks/capabilities.h"
#include "lib/job/checks/change.h"
#include "lib/job/checks/validate.h"
#include "lib/job/manifest/decode.h"
#include "lib/job/manifest/defaults.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/overrides.h"
#include "lib/kube/core/patch.h"

namespace paceline::commands {
namespace {

// What a manifest begins with.
constexpr std::array<std::string_view, 5> kTopLevel = {"spec", "metadata", "status", "apiVersion",
                                                       "kind"};

}  // namespace

std::string BelowSpec(const std::string& override) {
  const std::string_view first =
      std::string_view(override).substr(0, override.find_first_of(".[="));
  for (const std::string_view name : kTopLevel) {
    if (first == name) return override;
  }
  return "spec." + override;
}

JobPatch MakeJobPatch(const kube::Json& object, const std::vector<std::string>& overrides) {
  JobPatch made;
  kube::Json before = object;
  before.erase("status");  // Of a newer version, perhaps; none of ours to check.
  job::Node root = job::ToNode(before);
  for (const std::string& override : overrides) {
    const std::string whole = BelowSpec(override);
    const Status status = whole.starts_with("spec.")
                              ? job::ApplyOverride(root, whole)
                              : InvalidArgument("only spec can be set: got \"{}\"", override);
    if (!status.ok()) made.errors.push_back({"", Message(status), 0});
  }
  if (!made.errors.empty()) return made;
  job::Decoded decoded = job::Decode(root);
  job::ApplyDefaults(decoded.job);
  std::vector<job::FieldError> found =
      job::Validate(decoded.job, job::Capabilities(), decoded.errors);
  made.errors = std::move(decoded.errors);
  made.errors.insert(made.errors.end(), found.begin(), found.end());
  if (!made.errors.empty()) return made;
  job::TrainingJob stored = job::Decode(job::ToNode(before)).job;
  job::ApplyDefaults(stored);
  made.errors = job::ValidateChange(stored, decoded.job);
  if (made.errors.empty()) made.patch = kube::MergePatchBetween(before, job::ToJson(root));
  return made;
}

}  // namespace paceline::commands
