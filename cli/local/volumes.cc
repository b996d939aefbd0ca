#include "cli/local/volumes.h"

#include <filesystem>

#include <fmt/ranges.h>

namespace paceline::local {

namespace {

namespace fs = std::filesystem;

std::string Absolute(const std::string& folder) {
  std::string path = fs::absolute(folder).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

StatusOr<VolumeFolders> VolumeFolders::Parse(const std::vector<std::string>& chosen,
                                             const std::string& parent) {
  VolumeFolders folders;
  folders.parent_ = Absolute(parent);
  for (const std::string& entry : chosen) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == entry.size())
      return InvalidArgument("--volume must be CLAIM=DIR: got \"{}\"", entry);
    const std::string folder = Absolute(entry.substr(equals + 1));
    if (!folders.chosen_.emplace(entry.substr(0, equals), folder).second)
      return InvalidArgument("--volume names a claim twice: {}", entry.substr(0, equals));
  }
  return folders;
}

std::string VolumeFolders::FolderOf(const std::string& claim) {
  asked_.insert(claim);
  const auto found = chosen_.find(claim);
  return found == chosen_.end() ? parent_ + "/" + claim : found->second;
}

Status VolumeFolders::CheckAllUsed() const {
  for (const auto& [claim, folder] : chosen_) {
    if (asked_.contains(claim)) continue;
    if (asked_.empty()) return NotFound("--volume {}={}: the job has no claim", claim, folder);
    return NotFound("--volume {}={}: the job has no such claim, its claims are {}", claim, folder,
                    fmt::join(asked_, ", "));
  }
  return OkStatus();
}

}  // namespace paceline::local
