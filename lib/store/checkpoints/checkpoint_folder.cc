#include "lib/store/checkpoints/checkpoint_folder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "lib/files/atomic_file.h"

namespace paceline::store {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kFormat = 1;
constexpr const char* kManifestFile = "/manifest.json";
constexpr const char* kStateFile = "/state.json";
constexpr const char* kFinishedFile = "/finished.json";

struct ParsedName {
  uint64_t serial = 0;
  Generation generation;
  Version version;
};

// Reads digits into `number`; false if there are none.
bool TakeNumber(std::string_view& text, uint64_t& number) {
  size_t digits = 0;
  number = 0;
  while (digits < text.size() && digits < 19 && text[digits] >= '0' && text[digits] <= '9')
    number = number * 10 + static_cast<uint64_t>(text[digits++] - '0');
  text.remove_prefix(digits);
  return digits > 0;
}

bool TakeText(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

std::optional<ParsedName> ParseName(std::string_view name) {
  ParsedName parsed;
  std::string_view rest = name;
  uint64_t version = 0;
  const bool is_name = TakeNumber(rest, parsed.serial) && TakeText(rest, "-g") &&
                       TakeNumber(rest, parsed.generation.start) && TakeText(rest, ".") &&
                       TakeNumber(rest, parsed.generation.counter) && TakeText(rest, "-v") &&
                       TakeNumber(rest, version) && rest.empty();
  if (!is_name) return std::nullopt;
  parsed.version = Version(version);
  return parsed;
}

Status SystemError(const char* what, const std::string& path, const std::error_code& error) {
  return files::FileError(what, path, error.value());
}

StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return files::FileError("open", path, errno);
  std::stringstream text;
  text << file.rdbuf();
  if (file.bad()) return Internal("read {}", path);
  return text.str();
}

StatusOr<FileDigest> WriteText(const std::string& path, const std::string& text,
                               files::Disk& disk) {
  PACELINE_RETURN_IF_ERROR(files::WriteFile(path, text, disk));
  Sha256 sum;
  sum.Add(std::as_bytes(std::span(text)));
  return FileDigest{text.size(), sum.Finish()};
}

json ToJson(const FileDigest& digest) {
  return {{"bytes", digest.bytes}, {"sha256", digest.sha256}};
}

FileDigest DigestFrom(const json& object) {
  return {object.at("bytes").get<uint64_t>(), object.at("sha256").get<std::string>()};
}

StatusOr<CheckpointManifest> ParseManifest(const std::string& name, const ParsedName& parsed,
                                           const std::string& text) {
  try {
    const json object = JsonFrom(text);
    const auto format = object.at("format").get<int64_t>();
    if (format > kFormat)
      return Unimplemented("it has format {}, this version reads {}", format, kFormat);
    if (format != kFormat) return FailedPrecondition("format is {}, want {}", format, kFormat);
    CheckpointManifest manifest{.name = name,
                                .serial = parsed.serial,
                                .generation = parsed.generation,
                                .version = parsed.version,
                                .run = object.at("run").get<std::string>(),
                                .state = DigestFrom(object.at("state")),
                                .shards = {}};
    for (const json& shard : object.at("shards")) manifest.shards.push_back(DigestFrom(shard));
    return manifest;
  } catch (const json::exception& error) {
    return DataLoss("{}", error.what());
  }
}

StatusOr<FoundCheckpoint> Load(const std::string& path, const std::string& name,
                               const ParsedName& parsed) {
  PACELINE_ASSIGN_OR_RETURN(const std::string text, ReadText(path + kManifestFile));
  auto manifest = ParseManifest(name, parsed, text);
  PACELINE_RETURN_IF_ERROR(Annotate(manifest.status(), path + kManifestFile));
  PACELINE_ASSIGN_OR_RETURN(std::string state, ReadText(path + kStateFile));
  Sha256 sum;
  sum.Add(std::as_bytes(std::span(state)));
  if (FileDigest{state.size(), sum.Finish()} != manifest->state)
    return DataLoss("{}{} is damaged: another SHA-256 than the manifest says", path, kStateFile);
  return FoundCheckpoint{*std::move(manifest), std::move(state)};
}

std::vector<std::string> NamesIn(const std::string& folder, std::error_code& error) {
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (ParseName(name)) names.push_back(name);
  }
  return names;
}

// Of a checkpoint's folder, for good.
Status RemoveManifest(const std::string& path, files::Disk& disk) {
  std::error_code ignored;
  if (!fs::exists(path + kManifestFile, ignored)) return OkStatus();
  PACELINE_RETURN_IF_ERROR(disk.Remove(path + kManifestFile));
  return files::FlushFolder(path, disk);
}

// Calls `remove(path)` for each checkpoint that is not to be kept.
template <class Remove>
Status ForTheRest(const std::string& folder, const std::vector<std::string>& names, Remove remove) {
  std::error_code error;
  Status first = OkStatus();
  for (const std::string& name : NamesIn(folder, error)) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (const Status removed = remove(folder + "/" + name); first.ok()) first = removed;
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return SystemError("read", folder, error);
  return first;
}

}  // namespace

std::string CheckpointName(uint64_t serial, const Generation& generation, Version version) {
  return fmt::format("{:06}-{}-{}", serial, generation, version);
}

std::string SliceFileName(ShardId shard) {
  return fmt::format("shard-{}.safetensors", shard.value());
}

std::string SlicePath(const std::string& folder, const std::string& name, ShardId shard) {
  return folder + "/" + name + "/" + SliceFileName(shard);
}

Status MakeCheckpointFolder(const std::string& folder, const std::string& name, files::Disk& disk) {
  return files::MakeFolders(folder + "/" + name, disk);
}

Status CompleteCheckpoint(const std::string& folder, CheckpointManifest manifest,
                          const std::string& state, files::Disk& disk) {
  const std::string path = folder + "/" + manifest.name;
  PACELINE_ASSIGN_OR_RETURN(manifest.state, WriteText(path + kStateFile, state, disk));
  json shards = json::array();
  for (const FileDigest& shard : manifest.shards) shards.push_back(ToJson(shard));
  const json object = {{"format", kFormat},
                       {"run", manifest.run},
                       {"version", manifest.version.value()},
                       {"generation", fmt::format("{}", manifest.generation)},
                       {"state", ToJson(manifest.state)},
                       {"shards", shards}};
  return WriteText(path + kManifestFile, JsonText(object, 2) + "\n", disk).status();
}

namespace {

// Serial and generation: the newest has the largest.
using Age = std::pair<uint64_t, Generation>;

Status WithWayOut(const Status& why, const std::string& path) {
  const bool is_newer = why.code() == StatusCode::kUnimplemented;
  return MakeStatus(why.code(),
                    fmt::format("{}; {}, or move {} away to go on without it", Message(why),
                                is_newer ? "run the version of Paceline that wrote it"
                                         : "let this process read it",
                                path));
}

}  // namespace

bool IsUnreadable(const Status& status) {
  return status.code() == StatusCode::kUnimplemented ||
         status.code() == StatusCode::kPermissionDenied;
}

StatusOr<CheckpointScan> ScanCheckpoints(const std::string& folder) {
  CheckpointScan scan;
  Age unreadable_age;
  std::error_code error;
  for (const std::string& name : NamesIn(folder, error)) {
    const ParsedName parsed = *ParseName(name);
    scan.serial_max = std::max(scan.serial_max, parsed.serial);
    std::error_code unseen;
    const std::string path = folder + "/" + name;
    if (!fs::exists(path + kManifestFile, unseen) && !unseen) continue;
    StatusOr<FoundCheckpoint> found = Load(path, name, parsed);
    if (found.ok()) {
      scan.complete.push_back(*std::move(found));
      continue;
    }
    scan.problems.push_back(Message(found.status()));
    const Age age(parsed.serial, parsed.generation);
    if (IsUnreadable(found.status()) && (scan.unreadable.ok() || age > unreadable_age)) {
      scan.unreadable = WithWayOut(found.status(), path);
      unreadable_age = age;
    }
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return SystemError("read", folder, error);
  std::sort(scan.complete.begin(), scan.complete.end(),
            [](const FoundCheckpoint& a, const FoundCheckpoint& b) {
              return Age(a.manifest.serial, a.manifest.generation) >
                     Age(b.manifest.serial, b.manifest.generation);
            });
  if (!scan.complete.empty()) {
    const CheckpointManifest& newest = scan.complete.front().manifest;
    if (Age(newest.serial, newest.generation) > unreadable_age) scan.unreadable = OkStatus();
  }
  if (const StatusOr<std::string> text = ReadText(folder + kFinishedFile); text.ok()) {
    const json object = JsonOrNone(*text);
    if (object.is_object() && object.contains("run") && object["run"].is_string())
      scan.finished_run = object["run"].get<std::string>();
  }
  return scan;
}

Status ForsakeCheckpoint(const std::string& folder, const std::string& name, files::Disk& disk) {
  return RemoveManifest(folder + "/" + name, disk);
}

Status KeepCheckpoints(const std::string& folder, const std::vector<std::string>& names,
                       files::Disk& disk) {
  return ForTheRest(folder, names, [&](const std::string& path) -> Status {
    // Before anything that it vouches for goes.
    PACELINE_RETURN_IF_ERROR(RemoveManifest(path, disk));
    return files::RemoveTree(path, disk);
  });
}

Status KeepSlices(const std::string& folder, ShardId shard, const std::vector<std::string>& names,
                  files::Disk& disk) {
  return ForTheRest(folder, names, [&](const std::string& path) -> Status {
    std::error_code error;
    // With a manifest it is the coordinator's to take away, the manifest first.
    if (fs::exists(path + kManifestFile, error) || error) return OkStatus();
    // What a killed process was writing has the name with something behind it.
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      if (at->path().filename().string().starts_with(SliceFileName(shard)))
        PACELINE_RETURN_IF_ERROR(disk.Remove(at->path().string()));
    }
    if (error) return SystemError("read", path, error);
    (void)disk.Remove(path);  // Used by other shards, on a volume that all share.
    return OkStatus();
  });
}

Status WriteFinishedRun(const std::string& folder, const std::string& run, files::Disk& disk) {
  return WriteText(folder + kFinishedFile, JsonText(json{{"run", run}}) + "\n", disk).status();
}

}  // namespace paceline::store
