#include "ps-server/checkpoints.h"

#include <algorithm>
#include <utility>

#include "lib/files/disk.h"
#include "lib/store/checkpoint_folder.h"
#include "lib/telemetry/log.h"
#include "ps-server/driver/checkpoint_json.h"

namespace paceline::ps {
namespace {

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

}  // namespace

std::string RunOf(const job::TrainingJob& job) {
  return job.metadata.uid.value_or(job.metadata.name_space + "/" + job.metadata.name);
}

StatusOr<FoundCheckpoints> FindCheckpoints(const std::string& folder, const job::TrainingJob& job,
                                           coordination::CheckpointOptions options,
                                           ResumeWish resume) {
  PACELINE_ASSIGN_OR_RETURN(CheckpointScan scan, store::ScanCheckpoints(folder));
  FoundCheckpoints result;
  result.options = std::move(options);
  result.options.serial = scan.serial_max;
  result.problems = std::move(scan.problems);
  if (scan.complete.empty()) {
    if (resume == ResumeWish::kAlways)
      return NotFound("there is no complete checkpoint to resume from in {}", folder);
    return result;
  }
  const std::string& newest_run = scan.complete.front().manifest.run;
  if (const std::string why = ReasonToBeginAnew(scan, RunOf(job), resume); !why.empty()) {
    result.note = fmt::format(
        "begins anew, not from the checkpoints in {}: {}; they are removed as "
        "new ones are written",
        folder, why);
    return result;
  }
  for (const FoundCheckpoint& found : scan.complete) {
    // What lies below is what that run began anew in spite of.
    if (found.manifest.run != newest_run) break;
    StatusOr<coordination::CheckpointState> state = ParseCheckpointState(found.state);
    if (!state.ok()) {
      result.problems.push_back(
          fmt::format("{}: {}", found.manifest.name, Message(state.status())));
      continue;
    }
    if (const std::string misfit = Misfit(found, *state, job); !misfit.empty()) {
      return InvalidArgument(
          "checkpoint {} in {} is of another training: {}; name another volume, or begin anew",
          found.manifest.name, folder, misfit);
    }
    result.options.found.insert(result.options.found.begin(),
                                {.name = found.manifest.name,
                                 .serial = found.manifest.serial,
                                 .generation = found.manifest.generation,
                                 .state = *std::move(state),
                                 .slices = found.manifest.shards});
  }
  if (result.options.found.empty())
    return DataLoss("no checkpoint in {} can be read: {}", folder, result.problems.front());
  const coordination::Checkpoint& newest = result.options.found.back();
  result.note = fmt::format("goes on from version {}, checkpoint {} in {}",
                            newest.state.version.value(), newest.name, folder);
  return result;
}

coordination::CheckpointOptions CheckpointOptionsFrom(const job::TrainingJob& job,
                                                      bool has_default_checkpoints) {
  coordination::CheckpointOptions options;
  if (has_default_checkpoints) {
    options.cost_max = kDefaultCost;
    options.period = kDefaultPeriodMin;
    options.keep = kDefaultKeep;
  } else {
    options.period = Seconds(job.spec.checkpoint->period_seconds);
    options.keep = static_cast<uint32_t>(job.spec.checkpoint->keep);
  }
  return options;
}

SlicePlace SlicePlaceFrom(const Options& options, const job::TrainingJob& job) {
  return {options.checkpoint, ShardId(options.rank),
          static_cast<uint64_t>(job.spec.parameter_server.shards),
          options.has_default_checkpoints ? kDefaultFreeShare : 0.0};
}

Status EndCheckpoints(const Options& options, const std::string& run) {
  return options.has_default_checkpoints ? files::RemoveTree(options.checkpoint)
                                         : store::WriteFinishedRun(options.checkpoint, run);
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
  if (const Status kept = store::KeepCheckpoints(folder, keep); !kept.ok()) {
    telemetry::Log(telemetry::LogLevel::kWarning, "old checkpoints stay",
                   {{"reason", Message(kept)}});
  }
  return OkStatus();
}

}  // namespace paceline::ps
