#include "cli/commands/manifest.h"

#include <iostream>
#include <iterator>

#include <fmt/format.h>

#include "lib/job/load.h"
#include "lib/process/read_file.h"

namespace paceline::commands {
namespace {

StatusOr<std::string> ReadText(const std::string& path) {
  if (path != "-") return process::ReadFile(path);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

}  // namespace

std::optional<job::TrainingJob> ReadManifest(const std::string& path,
                                             const std::vector<std::string>& overrides) {
  const StatusOr<std::string> text = ReadText(path);
  if (!text.ok()) {
    fmt::print(stderr, "paceline: {}\n", Message(text.status()));
    return std::nullopt;
  }
  job::Decoded decoded = job::LoadJob(*text, overrides, job::Capabilities());
  for (const job::FieldError& error : decoded.errors)
    fmt::print(stderr, "{}: {}\n", path, job::ToString(error));
  if (decoded.errors.empty()) return std::move(decoded.job);
  fmt::print(stderr, "paceline: {} {} in {}\n", decoded.errors.size(),
             decoded.errors.size() == 1 ? "error" : "errors", path);
  return std::nullopt;
}

}  // namespace paceline::commands
