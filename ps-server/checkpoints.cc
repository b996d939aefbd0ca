#include "ps-server/checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "lib/files/disk.h"
#include "lib/store/checkpoints/checkpoint_folder.h"
#include "lib/store/checkpoints/checkpoint_name.h"
#include "lib/telemetry/log.h"
#include "ps-server/coordinator/checkpoint_json.h"
#include "ps-server/run_lock.h"

namespace paceline::ps {
namespace {

namespace fs = std::filesystem;
using store::CheckpointScan;
using store::FoundCheckpoint;

// Of those that nobody asked for. Half of the promised 1 % (docs/performance.md), since the next
// one may cost more than the last one did.
constexpr double kDefaultCost = 0.005;
constexpr Duration kDefaultPeriodMin = Seconds(10);
constexpr uint32_t kDefaultKeep = 2;
constexpr double kDefaultFreeShare = 0.1;  // Of the disk.

// Why a checkpoint does not fit the job; empty: it does.
std::string Misfit(const FoundCheckpoint& found, const coordination::CheckpointState& state,
                   const job::TrainingJob& job) {
  const auto shards = static_cast<uint64_t>(job.spec.parameter_server.shards);
  if (found.manifest.shards.size() != shards) {
    return fmt::format("spec.parameterServer.shards is {}, the checkpoint's {}", shards,
                       found.manifest.shards.size());
  }
  const auto seed = static_cast<uint64_t>(job.spec.training.seed);
  if (state.seed != seed)
    return fmt::format("spec.training.seed is {}, the checkpoint's {}", seed, state.seed);
  return "";
}

// What has changed of the job's course since the checkpoint was written, to follow where training
// goes on; empty: nothing. Live changes are the job's: they are in its spec, and whoever resumes
// with a manifest of before takes them back.
std::string ChangedCourse(const coordination::CheckpointState& state, const job::TrainingJob& job) {
  if (!state.course) return "";
  std::string changes;
  const auto note = [&](std::string_view field, auto then, auto now, bool is_bound) {
    if (then == now) return;
    const auto shown = [&](auto value) {
      return is_bound && value == 0 ? std::string("none") : fmt::format("{}", value);
    };
    changes += fmt::format("{} spec.training.{} was {}, is {}", changes.empty() ? ";" : ",", field,
                           shown(then), shown(now));
  };
  const job::Training& training = job.spec.training;
  const auto bound = [](std::optional<int64_t> max) {
    return static_cast<uint64_t>(max.value_or(0));
  };
  note("stop.maxEpochs", state.course->epochs_max, bound(training.stop.max_epochs), true);
  note("stop.maxSteps", state.course->steps_max, bound(training.stop.max_steps), true);
  note("learningRate.base", state.course->base_rate, training.learning_rate.base, false);
  return changes;
}

// Whether to begin anew although there are checkpoints, and why, in words.
std::string ReasonToBeginAnew(const CheckpointScan& scan, const std::string& run,
                              ResumeWish resume) {
  const store::CheckpointManifest& newest = scan.complete.front().manifest;
  if (newest.run == run || resume == ResumeWish::kAlways) return "";
  if (resume == ResumeWish::kNever) return "as asked for";
  if (scan.finished_run == newest.run)
    return fmt::format("that run, {}, ended well; to train on from it, ask to resume", newest.run);
  return "";
}

// Those of the run that the newest one of `scan`, of which there is one, is of: to go on from.
Status TakeNewestRun(const CheckpointScan& scan, const std::string& folder,
                     const std::string& run_folder, const job::TrainingJob& job,
                     FoundCheckpoints& result) {
  const std::string& newest_run = scan.complete.front().manifest.run;
  for (const FoundCheckpoint& found : scan.complete) {
    // What lies below is what that run began anew in spite of.
    if (found.manifest.run != newest_run) break;
    StatusOr<coordination::CheckpointState> state = ParseCheckpointState(found.state);
    if (!state.ok()) {
      const std::string problem =
          fmt::format("{}/{}/state.json: {}", folder, found.manifest.name, Message(state.status()));
      if (store::IsUnreadable(state.status()) && result.options.found.empty()) {
        return Unimplemented(
            "{}; run the version of Paceline that wrote it, or move its folder away to go on "
            "without it",
            problem);
      }
      result.problems.push_back(problem);
      continue;
    }
    if (const std::string misfit = Misfit(found, *state, job); !misfit.empty()) {
      return InvalidArgument(
          "checkpoint {} in {} is of another training: {}; name another volume, or begin anew",
          found.manifest.name, folder, misfit);
    }
    result.options.found.insert(result.options.found.begin(),
                                {.name = run_folder + found.manifest.name,
                                 .serial = found.manifest.serial,
                                 .generation = found.manifest.generation,
                                 .state = *std::move(state),
                                 .slices = found.manifest.shards});
  }
  if (!result.options.found.empty()) return OkStatus();
  // Another start would find the same.
  return NotFound("no checkpoint in {} can be read: {}; move them away to begin anew", folder,
                  result.problems.front());
}

}  // namespace

std::string RunOf(const job::TrainingJob& job) {
  return job.metadata.uid.value_or(job.metadata.name_space + "/" + job.metadata.name);
}

std::string RunFolder(const job::TrainingJob& job, ResumeWish resume) {
  if (resume != ResumeWish::kOwn && resume != ResumeWish::kFromClaim) return "";
  std::string name = RunOf(job);
  std::replace(name.begin(), name.end(), '/', '_');
  return name + "/";
}

namespace {

// What lies on a volume, by the folders of runs that there are, "" for the volume itself. Of
// others' folders, what cannot be read is theirs; `own` is "a1b2/".
StatusOr<std::map<std::string, CheckpointScan>> ScanVolume(const std::string& folder,
                                                           const std::string& own) {
  std::map<std::string, CheckpointScan> scans;
  PACELINE_ASSIGN_OR_RETURN(scans[""], store::ScanCheckpoints(folder));
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (!at->is_directory(ignored)) continue;
    const std::string name = at->path().filename();
    StatusOr<CheckpointScan> scan = store::ScanCheckpoints(folder + "/" + name);
    if (!scan.ok() && name + "/" == own) return scan.status();
    if (scan.ok() && scan->serial_max > 0) scans[name + "/"] = *std::move(scan);
  }
  return scans;  // What cannot be read has been told by the first of them.
}

fs::file_time_type WrittenAt(const std::string& folder, const std::string& run_folder,
                             const FoundCheckpoint& found) {
  std::error_code ignored;
  return fs::last_write_time(folder + "/" + run_folder + found.manifest.name + "/manifest.json",
                             ignored);
}

// Which of the folders to go on from; null: none. One's own before all others, of those the one
// that was written to last.
const std::pair<const std::string, CheckpointScan>* Choose(
    const std::map<std::string, CheckpointScan>& scans, const std::string& folder,
    const job::TrainingJob& job, bool is_own) {
  const std::pair<const std::string, CheckpointScan>* chosen = nullptr;
  for (const auto& scan : scans) {
    if (scan.second.complete.empty()) continue;
    const FoundCheckpoint& newest = scan.second.complete.front();
    if ((newest.manifest.run == RunOf(job)) != is_own) continue;
    if (chosen == nullptr || WrittenAt(folder, scan.first, newest) >
                                 WrittenAt(folder, chosen->first, chosen->second.complete.front()))
      chosen = &scan;
  }
  return chosen;
}

// ", of another job (a1b2)", and whether that one trains; empty of one's own.
std::string WhoseElse(const std::pair<const std::string, CheckpointScan>& chosen,
                      const std::string& folder, const job::TrainingJob& job) {
  const std::string& run = chosen.second.complete.front().manifest.run;
  if (run == RunOf(job)) return "";
  const std::string live = WhoLivesIn(folder + "/" + chosen.first);
  if (live.empty()) return fmt::format(", of another job ({})", run);
  return fmt::format(
      ", of another job ({}) that still trains and keeps all it has: what it learns from here on "
      "is "
      "its own",
      run);
}

// On a volume that may hold other jobs' (ResumeWish::kOwn, kFromClaim): nothing of theirs is
// touched.
StatusOr<FoundCheckpoints> FindOnVolume(const std::string& folder, const job::TrainingJob& job,
                                        coordination::CheckpointOptions options,
                                        ResumeWish resume) {
  PACELINE_ASSIGN_OR_RETURN(const auto scans, ScanVolume(folder, RunFolder(job, resume)));
  FoundCheckpoints result{.options = std::move(options), .note = "", .problems = {}};
  result.options.folder = RunFolder(job, resume);
  for (const auto& [run_folder, scan] : scans) {
    result.problems.insert(result.problems.end(), scan.problems.begin(), scan.problems.end());
    if (run_folder != result.options.folder) continue;
    PACELINE_RETURN_IF_ERROR(scan.unreadable);
    result.options.serial = scan.serial_max;
  }
  const auto* chosen = Choose(scans, folder, job, /*is_own=*/true);
  const auto* const others = Choose(scans, folder, job, /*is_own=*/false);
  if (chosen == nullptr && resume == ResumeWish::kFromClaim) {
    chosen = others;
    // Of another job: whose the newest would be nobody can tell.
    for (const auto& [run_folder, scan] : scans) {
      if (chosen == nullptr || chosen->first == run_folder)
        PACELINE_RETURN_IF_ERROR(scan.unreadable);
    }
  }
  if (chosen != nullptr) {
    PACELINE_RETURN_IF_ERROR(
        TakeNewestRun(chosen->second, folder + "/" + chosen->first, chosen->first, job, result));
    const coordination::Checkpoint& newest = result.options.found.back();
    result.note =
        fmt::format("goes on from version {}, checkpoint {}{}{}", newest.state.version.value(),
                    newest.name, WhoseElse(*chosen, folder, job), ChangedCourse(newest.state, job));
  } else if (resume == ResumeWish::kFromClaim) {
    result.note = "begins anew: there is no complete checkpoint on the volume to go on from";
  } else if (others != nullptr) {
    const store::CheckpointManifest& newest = others->second.complete.front().manifest;
    result.note = fmt::format(
        "begins anew: the checkpoints on the volume, the newest of version {}, are of another job "
        "({}) and stay as they are; a job with spec.checkpoint.resume: FromClaim goes on from them",
        newest.version.value(), newest.run);
  }
  return result;
}

}  // namespace

StatusOr<FoundCheckpoints> FindCheckpoints(const std::string& folder, const job::TrainingJob& job,
                                           coordination::CheckpointOptions options,
                                           ResumeWish resume) {
  if (!RunFolder(job, resume).empty()) return FindOnVolume(folder, job, std::move(options), resume);
  PACELINE_ASSIGN_OR_RETURN(CheckpointScan scan, store::ScanCheckpoints(folder));
  FoundCheckpoints result{.options = std::move(options), .note = "", .problems = {}};
  result.options.serial = scan.serial_max;
  result.problems = std::move(scan.problems);
  if (resume != ResumeWish::kNever) PACELINE_RETURN_IF_ERROR(scan.unreadable);
  if (scan.complete.empty()) {
    if (resume == ResumeWish::kAlways)
      return NotFound("there is no complete checkpoint to resume from in {}", folder);
    return result;
  }
  if (const std::string why = ReasonToBeginAnew(scan, RunOf(job), resume); !why.empty()) {
    result.note = fmt::format(
        "begins anew, not from the checkpoints in {}: {}; they are removed as "
        "new ones are written",
        folder, why);
    return result;
  }
  PACELINE_RETURN_IF_ERROR(TakeNewestRun(scan, folder, "", job, result));
  const coordination::Checkpoint& newest = result.options.found.back();
  result.note =
      fmt::format("goes on from version {}, checkpoint {} in {}{}", newest.state.version.value(),
                  newest.name, folder, ChangedCourse(newest.state, job));
  return result;
}

coordination::CheckpointOptions CheckpointOptionsFrom(const Options& options,
                                                      const job::TrainingJob& job) {
  coordination::CheckpointOptions wanted;
  if (!options.has_default_checkpoints) {
    wanted.period = Seconds(job.spec.checkpoint->period_seconds);
    wanted.keep = static_cast<uint32_t>(job.spec.checkpoint->keep);
    return wanted;
  }
  wanted.keep = kDefaultKeep;
  const bool is_given = options.default_checkpoint_period > Duration::zero();
  wanted.period = is_given ? options.default_checkpoint_period : kDefaultPeriodMin;
  wanted.cost_max = is_given ? std::numeric_limits<double>::infinity() : kDefaultCost;
  return wanted;
}

SlicePlace SlicePlaceFrom(const Options& options, const job::TrainingJob& job) {
  return {options.checkpoint, ShardId(options.rank),
          static_cast<uint64_t>(job.spec.parameter_server.shards),
          options.has_default_checkpoints ? kDefaultFreeShare : 0.0};
}

std::string CheckpointsOf(const Options& options, const job::TrainingJob& job) {
  if (options.checkpoint.empty()) return "";
  const std::string own = RunFolder(job, options.resume);
  return own.empty() ? options.checkpoint
                     : options.checkpoint + "/" + own.substr(0, own.size() - 1);
}

Status EndCheckpoints(const Options& options, const job::TrainingJob& job) {
  const std::string folder = CheckpointsOf(options, job);
  return options.has_default_checkpoints ? files::RemoveTree(folder)
                                         : store::WriteFinishedRun(folder, RunOf(job));
}

Status ForsakeCheckpoint(const Options& options, const job::TrainingJob& job,
                         const std::string& name) {
  if (store::RunFolderOf(name) != RunFolder(job, options.resume))
    return FailedPrecondition("it is another job's");
  return store::ForsakeCheckpoint(options.checkpoint, name);
}

Status CompleteCheckpoint(const std::string& folder, const std::string& run,
                          const coordination::Checkpoint& checkpoint,
                          const std::vector<std::string>& keep) {
  PACELINE_RETURN_IF_ERROR(store::CompleteCheckpoint(folder,
                                                     {.name = checkpoint.name,
                                                      .serial = checkpoint.serial,
                                                      .generation = checkpoint.generation,
                                                      .version = checkpoint.state.version,
                                                      .run = run,
                                                      .state = {},
                                                      .shards = checkpoint.slices},
                                                     CheckpointStateJson(checkpoint.state)));
  if (const Status kept = store::KeepCheckpoints(store::FolderOfCheckpoint(folder, checkpoint.name),
                                                 store::NamesBeside(checkpoint.name, keep));
      !kept.ok()) {
    telemetry::Log(telemetry::LogLevel::kWarning, "old checkpoints stay",
                   {{"reason", Message(kept)}});
  }
  return OkStatus();
}

}  // namespace paceline::ps
