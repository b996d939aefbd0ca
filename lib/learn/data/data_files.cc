#include "lib/learn/data/data_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "lib/base/name_pattern.h"

namespace paceline::learn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKinds = "want .safetensors, -idx3-ubyte, .npy or .bin";

std::string_view FileName(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

std::optional<FileKind> KindOf(std::string_view path) {
  const std::string_view name = FileName(path);
  if (name.ends_with(".safetensors")) return FileKind::kSafetensors;
  if (name.ends_with(".npy")) return FileKind::kNpy;
  if (name.ends_with(".bin")) return FileKind::kTokens;
  if (name.find("idx") != name.npos) return FileKind::kIdx;
  return std::nullopt;
}

bool IsPattern(std::string_view name) { return FileName(name).find_first_of("*?") != name.npos; }

Status FolderError(const fs::path& folder, const std::error_code& error) {
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory)
    return NotFound("cannot read folder {}: {}", folder.string(), error.message());
  if (error == std::errc::permission_denied)
    return PermissionDenied("cannot read folder {}: {}", folder.string(), error.message());
  return Internal("cannot read folder {}: {}", folder.string(), error.message());
}

// Files of `folder` of a known kind whose names fit, in the order of their names.
StatusOr<std::vector<std::string>> FilesIn(const fs::path& folder, std::string_view pattern) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    std::error_code ignored;  // A link to nowhere is no file.
    if (name.starts_with('.') || !entries->is_regular_file(ignored)) continue;
    if (KindOf(name) && FitsPattern(pattern, name)) paths.push_back(entries->path().string());
  }
  if (error) return FolderError(folder, error);
  std::ranges::sort(paths);
  return paths;
}

StatusOr<DataFiles> OneKind(const std::string& name, std::vector<std::string> paths) {
  if (paths.empty()) return InvalidArgument("{} has no data file: {}", name, kKinds);
  const FileKind kind = *KindOf(paths.front());
  for (const std::string& path : paths) {
    if (KindOf(path) == kind) continue;
    return InvalidArgument("{} has files of several kinds, {} and {}: want one", name,
                           paths.front(), path);
  }
  return DataFiles{kind, std::move(paths)};
}

// `path` with the last `from` of its file name replaced.
StatusOr<std::string> SiblingPath(const std::string& path, std::string_view from,
                                  std::string_view to) {
  const size_t name = path.find_last_of('/') + 1;
  const size_t at = path.rfind(from);
  if (at == std::string::npos || at < name) {
    return InvalidArgument(
        "cannot tell the targets of {}: its name has no \"{}\" to replace by \"{}\"", path, from,
        to);
  }
  return std::string(path).replace(at, from.size(), to);
}

StatusOr<std::string> TargetsOf(const std::string& path, FileKind kind) {
  return kind == FileKind::kNpy ? SiblingPath(path, "inputs", "targets")
                                : SiblingPath(path, "images-idx3", "labels-idx1");
}

}  // namespace

StatusOr<DataFiles> FindDataFiles(const std::string& name) {
  std::error_code error;
  const fs::file_status status = fs::status(name, error);
  if (fs::is_directory(status)) {
    PACELINE_ASSIGN_OR_RETURN(std::vector<std::string> paths, FilesIn(name, "*"));
    return OneKind(name, std::move(paths));
  }
  if (!fs::exists(status) && IsPattern(name)) {
    const fs::path folder = fs::path(name).parent_path();
    PACELINE_ASSIGN_OR_RETURN(std::vector<std::string> paths,
                              FilesIn(folder.empty() ? "." : folder, FileName(name)));
    return OneKind(name, std::move(paths));
  }
  if (name.ends_with('/')) return NotFound("cannot read folder {}: there is none", name);
  const std::optional<FileKind> kind = KindOf(name);
  if (!kind) return InvalidArgument("data file {} has no known ending: {}", name, kKinds);
  return DataFiles{*kind, {name}};
}

StatusOr<std::vector<std::string>> FindTargetFiles(const std::string& name, DataFiles& inputs) {
  if (!name.empty()) {
    PACELINE_ASSIGN_OR_RETURN(DataFiles targets, FindDataFiles(name));
    if (targets.paths.size() == inputs.paths.size()) return std::move(targets.paths);
    return InvalidArgument("{} has {} files, want one for each of {} of inputs", name,
                           targets.paths.size(), inputs.paths.size());
  }
  std::set<std::string> siblings;
  for (const std::string& path : inputs.paths) {
    const StatusOr<std::string> sibling = TargetsOf(path, inputs.kind);
    if (sibling.ok()) siblings.insert(*sibling);
  }
  std::erase_if(inputs.paths, [&](const std::string& path) { return siblings.contains(path); });
  std::vector<std::string> paths;
  for (const std::string& path : inputs.paths) {
    PACELINE_ASSIGN_OR_RETURN(paths.emplace_back(), TargetsOf(path, inputs.kind));
  }
  return paths;
}

}  // namespace paceline::learn
