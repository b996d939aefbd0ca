#include "lib/sync/schemes/saved_pair.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/sync/trace/fields.h"

namespace paceline::sync {

// The lengths of both on a line of their own, then both.
std::string JoinSaved(const std::string& first, const std::string& second) {
  if (first.empty() && second.empty()) return "";
  return fmt::format("{} {}\n{}{}", first.size(), second.size(), first, second);
}

StatusOr<SavedPair> SplitSaved(std::string_view saved) {
  if (saved.empty()) return SavedPair{};
  const std::string_view line = saved.substr(0, saved.find('\n'));
  const std::string_view rest = saved.substr(std::min(line.size() + 1, saved.size()));
  Fields fields(line);
  const auto first = fields.Next<size_t>("length of the first part");
  const auto second = fields.Next<size_t>("length of the second part");
  if (!fields.Finish().ok() || first > rest.size() || rest.size() - first != second) {
    return DataLoss("saved policy state has no parts: {} bytes that begin with {}", saved.size(),
                    line.substr(0, 20));
  }
  return SavedPair{std::string(rest.substr(0, first)), std::string(rest.substr(first))};
}

}  // namespace paceline::sync
