#include "cli/commands/manifest.h"

#include <iostream>

#include <fmt/format.h>

#include "cli/local/display/print.h"
#include "lib/base/limits.h"
#include "lib/job/manifest/load.h"
#include "lib/process/read_file.h"

namespace paceline::commands {

StatusOr<std::string> ReadManifestText(const std::string& path) {
  if (path != "-") return process::ReadFile(path, limits::kManifestBytesMax);
  std::string text(limits::kManifestBytesMax + 1, '\0');  // One more: LoadJob says it is too long.
  std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::cin.gcount()));
  return text;
}

std::optional<job::TrainingJob> ReadManifest(const std::string& path,
                                             const std::vector<std::string>& overrides) {
  const StatusOr<std::string> text = ReadManifestText(path);
  if (!text.ok()) {
    local::Print(stderr, "paceline: {}\n", Message(text.status()));
    return std::nullopt;
  }
  job::Decoded decoded = job::LoadJob(*text, overrides, job::Capabilities());
  if (decoded.errors.empty()) return std::move(decoded.job);
  PrintErrors(path, decoded.errors);
  return std::nullopt;
}

void PrintErrors(const std::string& path, const std::vector<job::FieldError>& errors) {
  for (const job::FieldError& error : errors)
    local::Print(stderr, "{}: {}\n", path, job::ToString(error));
  local::Print(stderr, "paceline: {} {} in {}\n", errors.size(),
               errors.size() == 1 ? "error" : "errors", path);
}

}  // namespace paceline::commands
