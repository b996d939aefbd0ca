#include "lib/job/manifest/load.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "lib/job/checks/validate.h"
#include "lib/job/manifest/defaults.h"
#include "lib/job/manifest/overrides.h"
#include "lib/job/manifest/size_check.h"
#include "lib/job/manifest/yaml.h"

namespace paceline::job {

Decoded LoadJob(std::string_view text, const std::vector<std::string>& overrides,
                const Capabilities& capabilities) {
  Parsed parsed = ParseYaml(text);
  if (!parsed.errors.empty()) return Decoded{{}, std::move(parsed.errors)};
  std::vector<FieldError> refused;
  for (const std::string& override : overrides) {
    const Status status = ApplyOverride(parsed.root, override);
    if (!status.ok()) refused.push_back({"", "--set: " + Message(status), 0});
  }
  if (std::optional<FieldError> error = CheckSize(parsed.root))
    return Decoded{{}, {*std::move(error)}};
  Decoded decoded = Decode(parsed.root);
  ApplyDefaults(decoded.job);
  std::vector<FieldError> found = Validate(decoded.job, capabilities, decoded.errors);
  for (FieldError& error : found) error.line = LineOf(parsed.root, error.path);
  decoded.errors.insert(decoded.errors.end(), found.begin(), found.end());
  decoded.errors.insert(decoded.errors.begin(), refused.begin(), refused.end());
  // Values from overrides have no line and come last.
  const auto line_of = [](const FieldError& error) {
    return error.line > 0 ? error.line : std::numeric_limits<int>::max();
  };
  std::stable_sort(
      decoded.errors.begin(), decoded.errors.end(),
      [&](const FieldError& a, const FieldError& b) { return line_of(a) < line_of(b); });
  return decoded;
}

}  // namespace paceline::job
