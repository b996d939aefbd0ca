#include "lib/job/state/coordinator_report.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "lib/job/manifest/values/metric.h"
#include "lib/job/process_name.h"
#include "lib/job/state/rfc3339.h"

namespace paceline::job {
namespace {

using nlohmann::json;

// Six digits: a status that changes in the seventh is no news.
double Rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

std::optional<double> Number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return Rounded(found->get<double>());
}

// What `evaluation` says of that metric.
std::optional<double> NumberCalled(const std::string& metric, const json& evaluation) {
  if (metric == kAccuracyMetric) return Number(evaluation, "accuracy");
  if (metric == kLossMetric) return Number(evaluation, "loss");
  const auto own = evaluation.find("metrics");
  return own == evaluation.end() ? std::nullopt : Number(*own, metric.c_str());
}

TrainingPhase PhaseOf(const json& state) {
  if (const auto finished = state.find("finished"); finished != state.end())
    return finished->at("success").get<bool>() ? TrainingPhase::kSucceeded : TrainingPhase::kFailed;
  if (state.contains("finishing")) return TrainingPhase::kFinishing;
  const json& phase = state.at("phase");
  const bool is_startup = phase == "startup" || phase == "birth";  // As coordinators once said.
  return is_startup ? TrainingPhase::kStartup : TrainingPhase::kTraining;
}

Progress ProgressOf(const TrainingJob& job, const json& state) {
  Progress progress;
  progress.step = state.at("step").get<int64_t>();
  progress.epoch = Number(state, "epochProgress").value_or(0);
  progress.percent = Number(state, "percent").value_or(0);
  progress.eta_seconds = Number(state, "etaSeconds");
  progress.loss = Number(state, "loss");
  progress.samples_per_second = Number(state, "samplesPerSecond");
  if (const auto evaluation = state.find("evaluation"); evaluation != state.end()) {
    const auto& target = job.spec.training.stop.target;
    progress.accuracy = Number(*evaluation, "accuracy");
    progress.metric = target ? NumberCalled(target->metric, *evaluation) : progress.accuracy;
  }
  return progress;
}

// Empty where the job lists no groups, and from a coordinator that knew none.
std::string GroupIn(const json& worker) {
  std::string group = worker.value("group", "");
  return group == GroupOf(Role::kWorker) ? "" : group;
}

WorkerStatus WorkerOf(const TrainingJob& job, const json& worker) {
  WorkerStatus status;
  const ProcessId process = IdOf(Role::kWorker, worker.at("index").get<int64_t>(), GroupIn(worker));
  status.name = ProcessName(job.metadata.name, process);
  status.group = process.group;
  status.index = process.index;
  status.state = worker.at("isMember").get<bool>() ? "Training"
                 : worker.contains("quarantine")   ? "Quarantined"
                                                   : "Gone";
  status.device = worker.value("device", "");
  status.threads = worker.value("threads", int64_t{0});
  status.batch_size = worker.value("batchSize", int64_t{0});
  status.compute_seconds_p50 = Number(worker, "computeSecondsP50").value_or(0);
  status.slowdown_percent = Number(worker, "slowdownPercent").value_or(0);
  return status;
}

SyncStatus SyncOf(const TrainingJob& job, const json& state, int64_t members) {
  SyncStatus sync;
  const std::string word = state.contains("sync") ? state.at("sync").value("scheme", "") : "";
  sync.scheme = FromWord<Scheme>(word).value_or(job.spec.sync.scheme);
  sync.summary = ToWord(sync.scheme);
  if (state.contains("sync")) sync.summary = state.at("sync").value("composition", sync.summary);
  sync.waiting_for = state.value("waitingFor", int64_t{0});
  if (sync.waiting_for > 0) sync.backup_workers = std::max<int64_t>(members - sync.waiting_for, 0);
  return sync;
}

CoordinatorReport Parse(const TrainingJob& job, const json& state) {
  CoordinatorReport report;
  report.generation_start =
      state.value("generationStart", static_cast<uint64_t>(job.status.coordinator_starts));
  report.phase = PhaseOf(state);
  if (const auto finished = state.find("finished"); finished != state.end()) {
    report.message = finished->at("reason").get<std::string>();
    report.is_unjudged = finished->value("isUnjudged", false);
  }
  if (const auto finishing = state.find("finishing"); finishing != state.end()) {
    if (finishing->contains("modelVersion"))
      report.model_version = finishing->at("modelVersion").get<int64_t>();
  }
  report.have_scripts_ended = state.value("scriptsEnded", false);
  report.knows_evaluator_gone = state.value("evaluatorGone", false);
  report.idle_patterns = state.value("idlePatterns", std::vector<std::string>());
  report.target_problem = state.value("targetProblem", "");
  report.progress = ProgressOf(job, state);
  int64_t members = 0;
  for (const json& worker : state.at("workers")) {
    report.workers.push_back(WorkerOf(job, worker));
    if (worker.at("isMember").get<bool>()) ++members;
    if (const auto quarantine = worker.find("quarantine"); quarantine != worker.end() &&
                                                           quarantine->value("isHung", false) &&
                                                           quarantine->contains("attempt")) {
      report.hung.push_back({.worker = worker.at("index").get<int64_t>(),
                             .attempt = quarantine->at("attempt").get<int64_t>(),
                             .seconds = Number(*quarantine, "seconds").value_or(0),
                             .group = GroupIn(worker)});
    }
    if (worker.value("hasEnded", false)) {
      report.ended.push_back(
          {.worker = worker.at("index").get<int64_t>(), .group = GroupIn(worker)});
    }
    if (worker.value("isStraggler", false)) {
      report.stragglers.push_back(
          {.worker = worker.at("index").get<int64_t>(),
           .slowdown_percent = Number(worker, "slowdownPercent").value_or(0),
           .group = GroupIn(worker)});
    }
  }
  report.sync = SyncOf(job, state, members);
  if (const auto checkpoint = state.find("checkpoint"); checkpoint != state.end()) {
    if (checkpoint->contains("version")) {
      report.checkpoint =
          CheckpointStatus{.version = checkpoint->at("version").get<int64_t>(),
                           .completion_time = ParseTime(checkpoint->value("completionTime", ""))};
    }
    report.restored_from = checkpoint->value("restoredFrom", int64_t{0});
    report.checkpoint_trouble = checkpoint->value("problem", "");
    report.checkpoint_note = checkpoint->value("note", "");
  }
  if (const auto model = state.find("model"); model != state.end()) {
    report.model = SeenModel{.size_bytes = model->at("sizeBytes").get<int64_t>(),
                             .sha256 = model->at("sha256").get<std::string>(),
                             .is_fetched = model->value("fetched", false)};
  }
  report.model_trouble = state.value("modelProblem", "");
  report.poisoned = state.value("poisonedSamples", int64_t{0});
  for (const json& one : state.value("poisoned", json::array())) {
    const std::string place =
        fmt::format("position {} of epoch {}", one.value("position", int64_t{0}),
                    one.value("epoch", int64_t{0}));
    report.poisoned_of.push_back(
        one.value("drawn", false)
            ? fmt::format("what the script's sampler has put at {}", place)
            : fmt::format("sample {} ({})", one.value("sample", int64_t{0}), place));
  }
  report.standstill = state.value("standstill", "");
  report.is_shard_stalled = !report.standstill.empty() && state.value("shardStalled", true);
  for (const json& lost : state.value("lostShards", json::array())) {
    report.lost_shards.push_back({.rank = lost.at("rank").get<int64_t>(),
                                  .reason = lost.value("reason", ""),
                                  .seconds = lost.value("seconds", 0.0),
                                  .was_there = lost.value("wasThere", false)});
  }
  report.roll_backs = state.value("rollBacks", int64_t{0});
  report.last_roll_back = state.value("lastRollBack", "");
  report.lost_steps = state.value("lostSteps", int64_t{0});
  report.lost_seconds = Number(state, "lostSeconds").value_or(0);
  report.rolled_back_from = state.value("rolledBackFrom", int64_t{0});
  report.rolled_back_to = state.value("rolledBackTo", int64_t{0});
  return report;
}

}  // namespace

StatusOr<CoordinatorReport> ParseCoordinatorReport(const TrainingJob& job, std::string_view text) {
  try {
    return Parse(job, JsonFrom(text));
  } catch (const json::exception& error) {
    return InvalidArgument("not a job's state: {}", error.what());
  }
}

}  // namespace paceline::job
