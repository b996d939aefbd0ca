#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "lib/process/crash_report.h"
#include "lib/process/exit.h"
#include "simulator/calibration/fit.h"
#include "simulator/calibration/recording.h"
#include "simulator/calibration/scenario_text.h"
#include "simulator/report/report.h"
#include "simulator/scenario/scenario.h"

namespace paceline::simulator {
namespace {

struct Flags {
  std::string scenario;
  std::string output = "text";
  std::string traces;     // A folder; empty: no trace is written.
  std::string recording;  // Not empty: a run's folder, or its trace, that a scenario is made from.
};

StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) return NotFound("{} cannot be read", path);
  return text.str();
}

// What is done of all lives, and how long the rest will take, on one line of a terminal.
class Progress {
 public:
  explicit Progress(size_t lives) : lives_(lives), is_shown_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (is_shown_) std::cerr << "\r\033[K" << std::flush;
  }
  void Begin(const std::string& arm, uint64_t seed) {
    if (!is_shown_) return;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
    std::string line = fmt::format("\r\033[K{} of {}: {}, seed {}", done_ + 1, lives_, arm, seed);
    if (done_ > 0) {
      line += fmt::format(", {:.0f} s to go", passed.count() / static_cast<double>(done_) *
                                                  static_cast<double>(lives_ - done_));
    }
    std::cerr << line << std::flush;
    ++done_;
  }

 private:
  const size_t lives_;
  const bool is_shown_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  size_t done_ = 0;
};

StatusOr<std::vector<Row>> SimulateAll(const Scenario& scenario, const std::string& traces) {
  std::vector<Row> rows;
  Progress progress(scenario.arms.size() * scenario.seeds);
  for (const Arm& arm : scenario.arms) {
    for (uint64_t seed = scenario.first_seed; seed < scenario.first_seed + scenario.seeds; ++seed) {
      progress.Begin(arm.name, seed);
      ClusterOptions options = OptionsOf(scenario, arm, seed);
      std::ofstream trace;
      if (!traces.empty()) {
        const std::string path = fmt::format("{}/{}-{}.trace", traces, arm.name, seed);
        trace.open(path, std::ios::binary);
        if (!trace) return NotFound("{} cannot be written", path);
        options.trace = [&trace](std::string_view line) { trace << line << '\n'; };
      }
      PACELINE_ASSIGN_OR_RETURN(const Life life, Simulate(options));
      rows.push_back(RowOf(arm.name, seed, options.workers.size(), life));
    }
  }
  return rows;
}

int Run(const Flags& flags) {
  const StatusOr<std::string> text = ReadText(flags.scenario);
  if (!text.ok()) {
    fmt::print(stderr, "paceline: {}\n", Message(text.status()));
    return process::kExitCannotWork;
  }
  const LoadedScenario loaded = LoadScenario(*text);
  for (const job::FieldError& error : loaded.errors)
    fmt::print(stderr, "{}: {}\n", flags.scenario, job::ToString(error));
  if (!loaded.errors.empty()) return process::kExitCannotWork;
  const StatusOr<std::vector<Row>> rows = SimulateAll(loaded.scenario, flags.traces);
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
std::string SyncOf(const std::filesystem::path& folder) {
  const StatusOr<std::string> text = ReadText(folder / "job.json");
  if (!text.ok()) return "";
  const auto job = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const auto sync = nlohmann::json::json_pointer("/spec/sync");
  return job.is_object() && job.contains(sync) ? job[sync].dump() : "";
}

StatusOr<std::string> Calibrated(const std::string& path) {
  const bool is_folder = std::filesystem::is_directory(path);
  const std::string trace = is_folder ? path + "/policy.trace" : path;
  PACELINE_ASSIGN_OR_RETURN(const std::string text, ReadText(trace));
  StatusOr<Recording> recording = ReadRecording(text);
  PACELINE_RETURN_IF_ERROR(Annotate(recording.status(), trace));
  StatusOr<FittedCluster> cluster = Fit(*recording);
  PACELINE_RETURN_IF_ERROR(Annotate(cluster.status(), trace));
  return ScenarioText(*recording, *cluster, is_folder ? SyncOf(path) : "", trace);
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

}  // namespace
}  // namespace paceline::simulator

int main(int argc, char** argv) {
  paceline::process::ReportCrashes(argv[0]);
  paceline::simulator::Flags flags;
  CLI::App app(
      "Plays a scenario under a virtual clock, with the policies that the parameter server has.",
      "paceline-simulator");
  CLI::Option* const scenario =
      app.add_option("scenario", flags.scenario, "File of the scenario (docs/simulation.md)");
  CLI::Option* const recording = app.add_option(
      "--calibrate", flags.recording,
      "Folder of a run, or its policy.trace: prints a scenario whose cluster is as fast");
  recording->excludes(scenario);
  app.add_option("-o,--output", flags.output, "What to print")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  app.add_option("--traces", flags.traces, "Folder for each life's policy trace, ARM-SEED.trace")
      ->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
    if (scenario->empty() && recording->empty()) throw CLI::RequiredError("scenario");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? paceline::process::kExitDone : paceline::process::kExitCannotWork;
  }
  return flags.recording.empty() ? paceline::simulator::Run(flags)
                                 : paceline::simulator::Calibrate(flags);
}
