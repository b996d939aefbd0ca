#include "cli/local/checkpoint_place.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "lib/files/atomic_file.h"
#include "lib/files/disk.h"
#include "lib/job/checks/change.h"
#include "lib/job/manifest/encode.h"
#include "lib/process/read_file.h"
#include "lib/store/checkpoints/checkpoint_folder.h"

namespace paceline::local {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunFile = "/run.json";

std::string LockOf(const std::string& run_folder) {
  return fmt::format("{}/{}", run_folder, store::kRunLockName);
}

struct Trained {
  std::string manifest;
  job::TrainingJob job;
};

std::optional<Trained> WhatItTrained(const std::string& folder) {
  const StatusOr<std::string> text = process::ReadFile(folder + kRunFile);
  if (!text.ok()) return std::nullopt;
  const nlohmann::json object = JsonOrNone(*text);
  if (!object.is_object() || !object.contains("manifest") || !object["manifest"].is_string() ||
      !object.contains("job"))
    return std::nullopt;
  job::Decoded decoded = job::FromJson(object["job"]);
  if (!decoded.errors.empty()) return std::nullopt;
  return Trained{object["manifest"].get<std::string>(), std::move(decoded.job)};
}

// What may be gone on from. Its folder is the volume itself where a version before wrote.
struct Candidate {
  std::string folder;
  store::CheckpointScan scan;
  fs::file_time_type written;
  std::optional<Trained> trained;

  const store::CheckpointManifest& newest() const { return scan.complete.front().manifest; }
  bool has_ended_well() const { return scan.finished_run == newest().run; }
};

std::optional<Candidate> CandidateIn(const std::string& folder) {
  StatusOr<store::CheckpointScan> scan = store::ScanCheckpoints(folder);
  if (!scan.ok() || scan->complete.empty()) return std::nullopt;
  Candidate candidate{
      .folder = folder, .scan = *std::move(scan), .written = {}, .trained = WhatItTrained(folder)};
  std::error_code error;
  candidate.written =
      fs::last_write_time(folder + "/" + candidate.newest().name + "/manifest.json", error);
  return candidate;
}

// The one that was written to last first.
std::vector<Candidate> CandidatesOn(const std::string& volume) {
  std::vector<Candidate> candidates;
  const auto look = [&](const std::string& folder) {
    if (auto candidate = CandidateIn(folder)) candidates.push_back(*std::move(candidate));
  };
  look(volume);
  std::error_code error;
  for (fs::directory_iterator at(volume, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) look(at->path().string());
  }
  std::ranges::sort(candidates, std::ranges::greater(), &Candidate::written);
  return candidates;
}

// Why it is no run of this training; empty: it is one, or nothing says whose it is.
std::string ReasonToPass(const Candidate& candidate, const CheckpointWish& wish) {
  if (candidate.folder == wish.volume) return "";
  if (!candidate.trained) return "it does not say what it trained";
  if (candidate.trained->job.metadata.name != wish.job.metadata.name)
    return fmt::format("its job is {}", candidate.trained->job.metadata.name);
  if (wish.resume == "always") return "";
  if (candidate.trained->manifest != wish.manifest)
    return fmt::format("it is of another manifest, {}", candidate.trained->manifest);
  const std::vector<job::FieldError> errors = job::ValidateChange(candidate.trained->job, wish.job);
  return errors.empty() ? "" : "its " + job::ToString(errors.front());
}

// A sweep over what may change leaves several runs of one manifest: where some are of the very
// same job, the others are not meant.
void KeepTheSame(const job::TrainingJob& job, std::vector<Candidate>& candidates) {
  const nlohmann::json wanted = job::ToJson(job);
  const auto is_other = [&](const Candidate& candidate) {
    return !candidate.trained || job::ToJson(candidate.trained->job) != wanted;
  };
  if (!std::ranges::all_of(candidates, is_other)) std::erase_if(candidates, is_other);
}

// Its checkpoints alone: other runs' folders lie beside them.
Status MoveFromVolume(const Candidate& candidate, const std::string& to) {
  files::Disk& disk = files::SystemDisk();
  PACELINE_RETURN_IF_ERROR(files::MakeFolders(to));
  for (const store::FoundCheckpoint& found : candidate.scan.complete) {
    const std::string& name = found.manifest.name;
    PACELINE_RETURN_IF_ERROR(disk.Rename(candidate.folder + "/" + name, to + "/" + name));
  }
  PACELINE_RETURN_IF_ERROR(files::FlushFolder(to));
  return files::FlushFolder(candidate.folder);
}

class Taker {
 public:
  explicit Taker(const CheckpointWish& wish) : wish_(wish) {}

  StatusOr<CheckpointPlace> Take() {
    CheckpointPlace place{.folder = wish_.volume + "/" + wish_.run, .lock = {}, .note = ""};
    const bool is_asked = wish_.resume == "always";
    for (const Candidate& candidate : OfThisTraining(place)) {
      if (!is_asked && candidate.has_ended_well()) {
        Leave(candidate, "it ended well; --resume goes on from it", place);
        break;  // What was written to before was not meant to go on either.
      }
      StatusOr<files::FolderLock> lock =
          files::FolderLock::Take(LockOf(candidate.folder), wish_.owner);
      if (lock.status().code() == StatusCode::kFailedPrecondition) {
        if (is_asked) {
          return FailedPrecondition("the checkpoints in {} are of a run that goes on: {}",
                                    candidate.folder, Message(lock.status()));
        }
        Leave(candidate, "it goes on: " + Message(lock.status()), place);
        continue;
      }
      if (lock.status().code() == StatusCode::kNotFound) continue;  // Another took it just now.
      PACELINE_RETURN_IF_ERROR(lock.status());
      PACELINE_RETURN_IF_ERROR(GoOnFrom(candidate, *std::move(lock), place));
      return place;
    }
    if (is_asked) {
      return NotFound("there is no complete checkpoint of {} to resume from in {}",
                      wish_.job.metadata.name, wish_.volume);
    }
    PACELINE_RETURN_IF_ERROR(Begin(place));
    return place;
  }

 private:
  std::vector<Candidate> OfThisTraining(CheckpointPlace& place) const {
    if (wish_.resume == "never") return {};
    std::vector<Candidate> candidates = CandidatesOn(wish_.volume);
    std::erase_if(candidates, [&](const Candidate& candidate) {
      const std::string why = ReasonToPass(candidate, wish_);
      if (!why.empty()) Leave(candidate, why, place);
      return !why.empty();
    });
    if (wish_.resume == "auto") KeepTheSame(wish_.job, candidates);
    return candidates;
  }

  void Leave(const Candidate& candidate, const std::string& why, CheckpointPlace& place) const {
    place.note = fmt::format("begins anew beside {}: {}", candidate.folder, why);
  }

  Status Begin(CheckpointPlace& place) const {
    PACELINE_RETURN_IF_ERROR(files::MakeFolders(place.folder));
    PACELINE_ASSIGN_OR_RETURN(place.lock,
                              files::FolderLock::Take(LockOf(place.folder), wish_.owner));
    Describe(place);
    return OkStatus();
  }

  Status GoOnFrom(const Candidate& candidate, files::FolderLock lock,
                  CheckpointPlace& place) const {
    place.goes_on = true;
    place.note = "";
    if (candidate.folder == wish_.volume) {
      PACELINE_RETURN_IF_ERROR(MoveFromVolume(candidate, place.folder));
      return Begin(place);
    }
    PACELINE_RETURN_IF_ERROR(files::SystemDisk().Rename(candidate.folder, place.folder));
    PACELINE_RETURN_IF_ERROR(files::FlushFolder(wish_.volume));
    place.lock = std::move(lock);
    Describe(place);
    return OkStatus();
  }

  // A disk that is full keeps no run from training.
  void Describe(CheckpointPlace& place) const {
    const nlohmann::json object = {{"manifest", wish_.manifest}, {"job", job::ToJson(wish_.job)}};
    const Status written = files::WriteFile(place.folder + kRunFile, JsonText(object, 2) + "\n");
    if (written.ok()) return;
    place.note += fmt::format(
        "{}no other run will go on from this one's checkpoints, since what it trains cannot be "
        "written down: {}",
        place.note.empty() ? "" : "; ", Message(written));
  }

  const CheckpointWish& wish_;
};

}  // namespace

StatusOr<CheckpointPlace> TakeCheckpointPlace(const CheckpointWish& wish) {
  return Taker(wish).Take();
}

}  // namespace paceline::local
