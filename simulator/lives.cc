#include "simulator/lives.h"

#include <cstdint>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lib/compare/plot.h"
#include "lib/files/atomic_file.h"
#include "simulator/progress.h"
#include "simulator/report/timeline.h"

namespace paceline::simulator {
namespace {

// A file that a life is written to while it is lived.
class Record {
 public:
  Status Open(std::string path) {
    path_ = std::move(path);
    file_.open(path_, std::ios::binary);
    return Done();
  }
  std::ofstream& file() { return file_; }
  Status Done() {
    if (file_.is_open()) file_.flush();
    if (!file_) return NotFound("{} cannot be written", path_);
    return OkStatus();
  }

 private:
  std::string path_;
  std::ofstream file_;
};

StatusOr<Life> Lived(ClusterOptions options, const Records& records, const std::string& name) {
  Record trace, timeline;
  std::optional<Timeline> shown;
  if (!records.traces.empty()) {
    PACELINE_RETURN_IF_ERROR(trace.Open(fmt::format("{}/{}.trace", records.traces, name)));
    options.trace = [&trace](std::string_view line) { trace.file() << line << '\n'; };
  }
  if (!records.timelines.empty()) {
    PACELINE_RETURN_IF_ERROR(timeline.Open(fmt::format("{}/{}.json", records.timelines, name)));
    shown.emplace(timeline.file(), options.workers.size());
    options.watch = [&shown](const Occurrence& one) { shown->Add(one); };
  }
  StatusOr<Life> life = Simulate(options);
  shown.reset();
  PACELINE_RETURN_IF_ERROR(trace.Done());
  PACELINE_RETURN_IF_ERROR(timeline.Done());
  return life;
}

compare::ArmRun LineOf(const Row& row, const Life& life) {
  compare::ArmRun run;
  run.scheme = row.arm;
  run.seed = static_cast<int64_t>(row.seed);
  for (const VersionFacts& version : life.versions)
    run.series.commits.push_back({version.at_seconds, version.pushes, version.loss});
  return run;
}

}  // namespace

StatusOr<std::vector<Row>> SimulateAll(const Scenario& scenario, const Records& records) {
  std::vector<Row> rows;
  std::vector<compare::ArmRun> lines;
  Progress progress;
  const size_t lives = scenario.arms.size() * scenario.seeds;
  for (const Arm& arm : scenario.arms) {
    for (uint64_t seed = scenario.first_seed; seed < scenario.first_seed + scenario.seeds; ++seed) {
      progress.Show(fmt::format("{}, seed {}", arm.name, seed), rows.size(), lives);
      ClusterOptions options = OptionsOf(scenario, arm, seed);
      const size_t workers = options.workers.size();
      PACELINE_ASSIGN_OR_RETURN(const Life life, Lived(std::move(options), records,
                                                       fmt::format("{}-{}", arm.name, seed)));
      rows.push_back(RowOf(arm.name, seed, workers, life));
      if (!records.plot.empty()) lines.push_back(LineOf(rows.back(), life));
    }
  }
  if (!records.plot.empty()) {
    PACELINE_RETURN_IF_ERROR(
        files::WriteFile(records.plot, compare::PlotSvg(lines, scenario.name)));
  }
  return rows;
}

}  // namespace paceline::simulator
