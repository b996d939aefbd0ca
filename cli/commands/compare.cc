#include "cli/commands/compare.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/commands/local_run.h"
#include "cli/commands/manifest.h"
#include "cli/local/cpu_use.h"
#include "cli/local/display/print.h"
#include "lib/compare/arm.h"
#include "lib/compare/plot.h"
#include "lib/compare/report.h"
#include "lib/files/atomic_file.h"
#include "lib/files/segments.h"
#include "lib/job/manifest/load.h"
#include "lib/job/manifest/values/metric.h"
#include "lib/process/exit.h"
#include "lib/telemetry/clock.h"

namespace paceline::commands {
namespace {

using compare::Arm;
using compare::ArmRun;

constexpr Duration kLookPeriod = std::chrono::milliseconds(150);  // Short runs are measured too.

struct Case {
  Arm arm;
  int64_t seed = 0;
  job::TrainingJob job;
};

int Refuse(const Status& status) {
  local::Print(stderr, "paceline: {}\n", Message(status));
  return process::kExitCannotWork;
}

// Checkpoints would let one run go on from another's, and the output's folder holds one model.
void MakeRepeatable(job::TrainingJob& job) {
  job.spec.checkpoint = job::Checkpoint{.enabled = false};
  job.spec.output.volume.reset();
}

// Nothing, and all errors of all arms are on stderr, if one of them cannot run.
std::optional<std::vector<Case>> Cases(const CompareOptions& options, const std::string& text,
                                       const std::vector<Arm>& arms) {
  std::vector<Case> cases;
  size_t refused = 0;
  for (const Arm& arm : arms) {
    std::vector<std::string> overrides = options.overrides;
    overrides.insert(overrides.end(), arm.overrides.begin(), arm.overrides.end());
    job::Decoded decoded = job::LoadJob(text, overrides, job::Capabilities());
    for (const job::FieldError& error : decoded.errors)
      local::Print(stderr, "{}: arm {}: {}\n", options.manifest, arm.name, job::ToString(error));
    if (!decoded.errors.empty()) ++refused;
    MakeRepeatable(decoded.job);
    cases.push_back({arm, 0, std::move(decoded.job)});
  }
  if (refused == 0) return cases;
  local::Print(stderr, "paceline: {} of {} arms cannot run; nothing was started\n", refused,
               arms.size());
  return std::nullopt;
}

bool IsToRise(const job::Target& target) {
  return job::BetterOf(target.metric, target.better) == job::Better::kHigher;
}

std::optional<double> NewestOf(const std::string& metric, const local::LiveState& state) {
  if (metric == job::kAccuracyMetric) return state.accuracy;
  if (metric == job::kLossMetric) return state.evaluation_loss;
  const auto own = state.evaluation_metrics.find(metric);
  return own == state.evaluation_metrics.end() ? std::nullopt : std::optional(own->second);
}

// What all runs are measured by, in words.
std::string Goal(const job::StopRule& stop) {
  if (stop.target) {
    return fmt::format("{} {} {:g}", stop.target->metric,
                       IsToRise(*stop.target) ? ">=" : "<=", stop.target->value);
  }
  std::vector<std::string> ends;
  if (stop.max_epochs) ends.push_back(fmt::format("{} epochs", *stop.max_epochs));
  if (stop.max_steps) ends.push_back(fmt::format("{} steps", *stop.max_steps));
  if (stop.patience)
    ends.push_back(fmt::format("{} evaluations without a better one", *stop.patience));
  return fmt::format("{} (there is no stop.target)", fmt::join(ends, " or "));
}

bool IsReached(const job::StopRule& stop, const local::LiveState& state) {
  if (!stop.target) return true;
  const std::optional<double> value = NewestOf(stop.target->metric, state);
  return value &&
         (IsToRise(*stop.target) ? *value >= stop.target->value : *value <= stop.target->value);
}

// The goal is met by a version: when it was published counts, not when its evaluation came back.
std::optional<double> SecondsToTarget(const job::StopRule& stop, const local::LiveState& state,
                                      const compare::RunSeries& series) {
  if (stop.target && state.evaluation_version) {
    const auto published = series.published_at.find(*state.evaluation_version);
    if (published != series.published_at.end()) return published->second;
  }
  if (!stop.target && !series.commits.empty()) return series.commits.back().seconds;
  return std::nullopt;
}

double LoadAverage() {
  double loads[1] = {};
  return getloadavg(loads, 1) == 1 ? loads[0] : 0;
}

void Measure(const job::StopRule& stop, const local::LiveState& state, ArmRun& run) {
  const compare::RunSeries& series = run.series;
  run.reached = IsReached(stop, state);
  if (run.reached) run.seconds_to_target = SecondsToTarget(stop, state, series);
  run.steps = state.step;
  run.step_seconds_p50 = compare::Median(series.step_seconds);
  const double all = series.compute + series.wait + series.communication;
  if (all > 0) {
    run.compute_share = series.compute / all;
    run.injected_share = series.injected / all;
  }
  if (state.seconds > 0)
    run.samples_per_second = static_cast<double>(state.committed_samples) / state.seconds;
  run.accuracy = state.accuracy;
  uint64_t bytes = 0;
  for (const local::LiveWorker& worker : state.workers) bytes += worker.transferred_bytes;
  if (state.step > 0)
    run.bytes_per_step = static_cast<double>(bytes) / static_cast<double>(state.step);
  if (series.samples_pushed > 0) {
    run.dropped =
        static_cast<double>(series.samples_dropped) / static_cast<double>(series.samples_pushed);
  }
}

// Nothing if it was interrupted, or could not even be prepared.
std::optional<ArmRun> RunCase(const CompareOptions& options, const Case& one,
                              local::Signals& signals, local::ProgressView& view) {
  local::CpuMeter meter;
  Time looked_at{};
  const auto look = [&meter, &looked_at](const local::LiveState& state) {
    const Time now = telemetry::SteadyNow();
    if (state.phase != "training" || now - looked_at < kLookPeriod) return;
    meter.Look();
    looked_at = now;
  };
  std::string folder_name = fmt::format("{}-{}-{}", one.job.metadata.name, one.arm.name, one.seed);
  for (char& c : folder_name) {
    if (c == ':' || c == '+') c = '-';
  }
  const std::optional<LocalRun> prepared = LocalRun::Prepare({.manifest = options.manifest,
                                                              .runs_folder = options.runs_folder,
                                                              .folder_name = folder_name,
                                                              .volumes = {},
                                                              .on_state = look},
                                                             one.job);
  if (!prepared) return std::nullopt;
  const local::Outcome outcome = prepared->Run(signals, view);
  if (outcome.is_interrupted) return std::nullopt;
  ArmRun run{.scheme = one.arm.name, .seed = one.seed};
  // One that trained for less than two looks: over its end as well.
  if (!meter.cores()) meter.Look();
  run.cores = meter.cores().value_or(0);
  run.load_average = LoadAverage();
  if (!outcome.is_success) run.problem = outcome.reason;
  // Without a measurement nobody knows whether the machine was what was measured.
  if (outcome.is_success && !meter.cores()) run.problem = "too short to measure its CPU use";
  const StatusOr<std::string> trace = files::ReadSegments(prepared->folder().TraceFile());
  StatusOr<compare::RunSeries> series =
      trace.ok() ? compare::ReadSeries(*trace) : StatusOr<compare::RunSeries>(trace.status());
  if (!series.ok()) {
    if (run.problem.empty()) run.problem = "its trace: " + Message(series.status());
    return run;
  }
  run.series = *std::move(series);
  if (run.series.gaps > 0 && run.problem.empty()) {
    run.problem =
        "its trace lacks a part: give spec.observability.trace.maxBytes room for all of it";
  }
  if (outcome.is_success && outcome.state) Measure(one.job.spec.training.stop, *outcome.state, run);
  return run;
}

// As they were asked for, whatever order they ran in.
std::vector<ArmRun> ByArm(const std::vector<Case>& cases, const std::vector<ArmRun>& runs) {
  std::vector<ArmRun> sorted;
  for (const Case& one : cases) {
    for (const ArmRun& run : runs)
      if (run.scheme == one.arm.name) sorted.push_back(run);
  }
  return sorted;
}

std::string Report(const std::string& output, const std::vector<ArmRun>& runs,
                   const std::string& goal) {
  if (output == "json") return compare::RunsJson(runs);
  return output == "csv" ? compare::RunsCsv(runs) : compare::TableText(runs, goal);
}

}  // namespace

int Compare(const CompareOptions& options) {
  const StatusOr<std::vector<Arm>> arms = compare::ParseArms(options.schemes);
  if (!arms.ok()) return Refuse(arms.status());
  const StatusOr<std::string> text = ReadManifestText(options.manifest);
  if (!text.ok()) return Refuse(text.status());
  const std::optional<std::vector<Case>> cases = Cases(options, *text, *arms);
  if (!cases) return process::kExitCannotWork;

  local::Signals signals;
  local::ProgressView view(stderr, isatty(STDERR_FILENO) == 1);
  std::vector<ArmRun> runs;
  const size_t all = cases->size() * static_cast<size_t>(options.seeds);
  bool is_cut_off = false;
  for (int64_t i = 0; i < options.seeds && !is_cut_off; ++i) {
    for (Case one : *cases) {
      // Another shuffling of the data, another chance in the delays: the same for all arms.
      one.seed = one.job.spec.training.seed += i;
      one.job.spec.chaos.seed += i;
      view.Note(fmt::format("run {} of {}: {} with seed {}", runs.size() + 1, all, one.arm.name,
                            one.seed));
      std::optional<ArmRun> run = RunCase(options, one, signals, view);
      is_cut_off = !run;
      if (is_cut_off) break;
      runs.push_back(*std::move(run));
    }
  }
  const std::vector<ArmRun> sorted = ByArm(*cases, runs);
  const std::string goal = Goal(cases->front().job.spec.training.stop);
  fmt::print("{}", Report(options.output, sorted, goal));
  std::fflush(stdout);
  if (!options.plot.empty()) {
    const std::string title = fmt::format("{}, goal: {}", cases->front().job.metadata.name, goal);
    const Status written = files::WriteFile(options.plot, compare::PlotSvg(sorted, title));
    if (!written.ok()) return Refuse(written);
  }
  if (signals.interruptions() > 0) return kExitInterrupted;
  if (is_cut_off) return process::kExitCannotWork;
  for (const ArmRun& run : runs)
    if (!run.problem.empty()) return process::kExitFailed;
  return process::kExitDone;
}

}  // namespace paceline::commands
