#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "lib/process/crash_report.h"
#include "lib/process/exit.h"
#include "lib/process/read_file.h"
#include "simulator/advising.h"
#include "simulator/calibration/fit.h"
#include "simulator/calibration/recording.h"
#include "simulator/calibration/scenario_text.h"
#include "simulator/lives.h"
#include "simulator/opening.h"
#include "simulator/recorded_run.h"
#include "simulator/replay_text.h"
#include "simulator/report/report.h"
#include "simulator/scenario/scenario.h"

namespace paceline::simulator {
namespace {

struct Flags {
  std::string scenario;
  std::string output = "text";
  Records records;
  std::string recording;  // Not empty: a run's folder, or its trace, that a scenario is made from.
  AdvisingFlags advised;  // Its recording not empty: the same, for which other schemes are tried.
  std::string replayed;   // Not empty: the same, whose events are decided on once more.
  std::vector<std::string> with;  // Fields of the job that are others then.
};

int Run(const Flags& flags) {
  const StatusOr<std::string> text = process::ReadFile(flags.scenario);
  if (!text.ok()) {
    fmt::print(stderr, "paceline: {}\n", Message(text.status()));
    return process::kExitCannotWork;
  }
  LoadedScenario loaded = LoadScenario(*text);
  const std::filesystem::path folder = std::filesystem::path(flags.scenario).parent_path();
  if (loaded.errors.empty()) loaded.errors = OpenTraces(folder, loaded.scenario);
  std::unique_ptr<ModelObjective> model;
  if (loaded.errors.empty() && loaded.scenario.model) {
    OpenedModel opened = OpenModel(*loaded.scenario.model, folder);
    loaded.errors = std::move(opened.errors);
    model = std::move(opened.objective);
  }
  for (const job::FieldError& error : loaded.errors)
    fmt::print(stderr, "{}: {}\n", flags.scenario, job::ToString(error));
  if (!loaded.errors.empty()) return process::kExitCannotWork;
  if (model != nullptr) {
    loaded.scenario.cluster.model = model.get();
    loaded.scenario.cluster.train_samples = model->train_samples();
  }
  const StatusOr<std::vector<Row>> rows = SimulateAll(loaded.scenario, flags.records);
  if (!rows.ok()) {
    fmt::print(stderr, "paceline: {}\n", Message(rows.status()));
    return process::ExitCodeFor(rows.status());
  }
  fmt::print("{}", flags.output == "json"  ? RowsJson(*rows)
                   : flags.output == "csv" ? RowsCsv(*rows)
                                           : TableText(*rows));
  return process::kExitDone;
}

// spec.sync of the run's job; empty where the folder does not say.
std::string SyncOf(const RecordedRun& run) {
  const auto job = JsonOrNone(run.job_json);
  const auto sync = nlohmann::json::json_pointer("/spec/sync");
  return job.is_object() && job.contains(sync) ? JsonText(job[sync]) : "";
}

StatusOr<std::string> Calibrated(const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(const RecordedRun run, ReadRecordedRun(path));
  StatusOr<Recording> recording = ReadRecording(run.trace);
  PACELINE_RETURN_IF_ERROR(Annotate(recording.status(), run.source));
  StatusOr<FittedCluster> cluster = Fit(*recording);
  PACELINE_RETURN_IF_ERROR(Annotate(cluster.status(), run.source));
  return ScenarioText(*recording, *cluster, SyncOf(run), run.source);
}

int Calibrate(const Flags& flags) {
  const StatusOr<std::string> scenario = Calibrated(flags.recording);
  if (!scenario.ok()) {
    fmt::print(stderr, "paceline: {}\n", Message(scenario.status()));
    return process::kExitCannotWork;
  }
  fmt::print("{}", *scenario);
  return process::kExitDone;
}

// 1 if the recorded policy decides otherwise now; with other fields it may.
StatusOr<int> Replayed(const Flags& flags) {
  PACELINE_ASSIGN_OR_RETURN(const RecordedRun run, ReadRecordedRun(flags.replayed));
  if (flags.with.empty()) {
    const StatusOr<sync::ReplayResult> result = sync::Replay(run.trace);
    PACELINE_RETURN_IF_ERROR(Annotate(result.status(), run.source));
    fmt::print("{}", ReplayText(run.source, *result));
    return result->difference ? process::kExitFailed : process::kExitDone;
  }
  PACELINE_ASSIGN_OR_RETURN(const sync::PolicySpec other, PolicyWith(run, flags.with));
  const StatusOr<sync::WhatIfResult> result = sync::ReplayWith(run.trace, other);
  PACELINE_RETURN_IF_ERROR(Annotate(result.status(), run.source));
  fmt::print("{}", WhatIfText(run.source, other, *result));
  return process::kExitDone;
}

int ReplayOf(const Flags& flags) {
  const StatusOr<int> code = Replayed(flags);
  if (code.ok()) return *code;
  fmt::print(stderr, "paceline: {}\n", Message(code.status()));
  return process::kExitCannotWork;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Plays a scenario under a virtual clock, with the policies that the parameter server has.",
      "paceline-simulator");
  CLI::Option* const scenario =
      app.add_option("scenario", flags.scenario, "File of the scenario (docs/simulation.md)");
  CLI::Option* const recording = app.add_option(
      "--calibrate", flags.recording,
      "Folder of a run, or its policy.trace: prints a scenario whose cluster is as fast");
  recording->excludes(scenario);
  CLI::Option* const advised =
      app.add_option("--advise", flags.advised.recording,
                     "The same: tries other schemes on that cluster, and says what was faster");
  advised->excludes(scenario)->excludes(recording);
  app.add_option("--seeds", flags.advised.seeds, "Lives of each scheme and rate that is tried")
      ->check(CLI::Range(2, 100))
      ->needs(advised)
      ->capture_default_str();
  app.add_flag("--quick", flags.advised.is_quick, "Without trials on the job's own model")
      ->needs(advised);
  app.add_option("--model-seconds", flags.advised.model_seconds, "For trials on the model, about")
      ->check(CLI::Range(1.0, 86400.0))
      ->needs(advised)
      ->capture_default_str();
  app.add_option("--folder", flags.advised.folder,
                 "Where the job's relative paths start, if not where its manifest lay")
      ->needs(advised);
  CLI::Option* const replayed = app.add_option(
      "--replay", flags.replayed, "The same: decides once more on its events, and compares");
  replayed->excludes(scenario)->excludes(recording)->excludes(advised);
  app.add_option("--with", flags.with, "PATH=VALUE of the job's spec that is another then")
      ->needs(replayed)
      ->allow_extra_args(false);
  app.add_option("-o,--output", flags.output, "What to print")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  app.add_option("--traces", flags.records.traces,
                 "Folder for each life's policy trace, ARM-SEED.trace")
      ->check(CLI::ExistingDirectory);
  app.add_option("--timelines", flags.records.timelines,
                 "Folder for what each life's workers did when, ARM-SEED.json, for ui.perfetto.dev")
      ->check(CLI::ExistingDirectory);
  app.add_option("--plot", flags.records.plot,
                 "Draws losses, and pushes of a version, over time, as SVG");
  try {
    app.parse(argc, argv);
    if (scenario->empty() && recording->empty() && advised->empty() && replayed->empty())
      throw CLI::RequiredError("scenario");
    if (!advised->empty() && flags.output == "csv")
      throw CLI::ValidationError("--output", "csv is not of --advise: want text or json");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? process::kExitDone : process::kExitCannotWork;
  }
  if (!flags.replayed.empty()) return ReplayOf(flags);
  flags.advised.output = flags.output;
  if (!flags.advised.recording.empty()) return AdviseOf(flags.advised);
  return flags.recording.empty() ? Run(flags) : Calibrate(flags);
}

}  // namespace
}  // namespace paceline::simulator

int main(int argc, char** argv) {
  paceline::process::ReportCrashes(argv[0]);
  try {
    return paceline::simulator::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "paceline: %s\n", error.what());
    return paceline::process::kExitFailed;
  }
}
