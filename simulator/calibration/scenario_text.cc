#include "simulator/calibration/scenario_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paceline::simulator {
namespace {

// Joined so early it was there from the start.
constexpr double kStartSeconds = 0.5;
// Who is back at once was away for a moment.
constexpr double kAwaySecondsMin = 0.001;

std::string JitterText(const std::vector<double>& jitter) {
  std::vector<std::string> values;
  for (const double value : jitter) values.push_back(fmt::format("{:.4g}", value));
  return fmt::format("{{kind: Empirical, values: [{}]}}", fmt::join(values, ", "));
}

std::string WorkerText(const FittedWorker& worker) {
  std::string text = fmt::format("    - speed: {:.4g}  # {}, by {} steps\n", worker.speed,
                                 worker.worker, worker.steps);
  text += fmt::format("      compute:\n        jitter: {}\n", JitterText(worker.jitter));
  const bool is_late = ToSeconds(worker.joined) > kStartSeconds;
  if (!worker.changes.empty()) text += "        changes:\n";
  for (const FittedChange& change : worker.changes) {
    text += fmt::format("        - {{atSeconds: {:.4f}, factor: {:.4g}, jitter: {}}}\n",
                        change.at_seconds + (is_late ? ToSeconds(worker.joined) : 0), change.factor,
                        JitterText(change.jitter));
  }
  if (is_late) text += fmt::format("      joinsAtSeconds: {:.4g}\n", ToSeconds(worker.joined));
  std::vector<std::string> crashes;
  for (const RecordedAbsence& absence : worker.absences) {
    std::string crash = fmt::format("atSeconds: {:.6g}", ToSeconds(absence.from));
    if (absence.lasting)
      crash += fmt::format(", returnsAfterSeconds: {:.4g}",
                           std::max(ToSeconds(*absence.lasting), kAwaySecondsMin));
    if (absence.is_silent) crash += ", silent: true";
    crashes.push_back("{" + crash + "}");
  }
  if (!crashes.empty()) text += fmt::format("      crashes: [{}]\n", fmt::join(crashes, ", "));
  return text;
}

}  // namespace

std::string ScenarioText(const Recording& recording, const FittedCluster& cluster,
                         const std::string& sync, const std::string& source) {
  std::string text = fmt::format(
      "# From {}: {} versions in {:.1f} s, {:.4g} s each, under {}.\n"
      "# Workers and links are as they were there; the objective is not, it is the simulator's "
      "own.\n"
      "apiVersion: paceline.dev/v1alpha1\n"
      "kind: Scenario\n"
      "metadata: {{name: calibrated}}\n"
      "spec:\n"
      "  seeds: 3\n"
      "  training: {{globalBatchSize: {}, learningRate: 0.5}}\n"
      "  objective: {{dimensions: 16, noise: 0.5}}\n"
      "  stop: {{loss: 0.03, steps: 10000}}\n"
      "  cluster:\n"
      "    compute: {{fixedSeconds: {:.6g}, perSampleSeconds: {:.6g}}}\n"
      "    network: {{latencySeconds: {:.6g}}}\n"
      "    commitSeconds: {:.6g}\n"
      "    workers:\n",
      source, recording.versions, recording.seconds,
      recording.seconds / static_cast<double>(std::max<uint64_t>(recording.versions - 1, 1)),
      recording.policy, recording.batch, cluster.fixed_seconds, cluster.per_sample_seconds,
      cluster.latency_seconds, cluster.commit_seconds);
  for (const FittedWorker& worker : cluster.workers) text += WorkerText(worker);
  text += "  arms:\n";
  if (!sync.empty()) text += fmt::format("  - {{name: recorded, sync: {}}}\n", sync);
  text +=
      "  - {name: bsp, sync: {scheme: BSP}}\n"
      "  - {name: dbw, sync: {scheme: DBW}}\n"
      "  - {name: lb-bsp, sync: {scheme: BSP, batchSizing: {strategy: EMA}}}\n"
      "  - {name: ssp, sync: {scheme: SSP}}\n"
      "  - {name: asp, sync: {scheme: ASP}}\n"
      "  - {name: wbsp, sync: {scheme: WBSP}}\n"
      "  - {name: ps-plus, sync: {scheme: PSPlus}}\n";
  return text;
}

}  // namespace paceline::simulator
