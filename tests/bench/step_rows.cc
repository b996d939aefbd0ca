#include "tests/bench/step_rows.h"

#include <iostream>

#include <fmt/format.h>

#include "tests/bench/report.h"

namespace paceline::bench {

void StepRow::Add(const StepRun& run, const StepRun& peer, const StepRun& reference) {
  step_ms.push_back(run.step_ms);
  worker_cpu_ms.push_back(run.worker_cpu_ms);
  all_cpu_ms.push_back(run.all_cpu_ms);
  minor_faults.push_back(run.minor_faults);
  compute_ms.push_back(run.compute_ms);
  commit_ms.push_back(run.commit_ms);
  speed.push_back(peer.step_ms / run.step_ms);
  const LossDifference difference = Compare(run, reference);
  if (!(difference.last <= loss.last)) loss.last = difference.last;
  if (!(difference.largest <= loss.largest)) loss.largest = difference.largest;
}

void PrintHead() {
  std::cout << fmt::format("{:<30}{:>9}{:>10}{:>10}{:>12}{:>9}{:>9}{:>17}{:>11}{:>11}\n", "",
                           "step", "least", "most", "worker CPU", "all CPU", "faults",
                           "speed / PyTorch", "last loss", "any loss");
}

void Print(const StepRow& row) {
  std::cout << fmt::format(
                   "{:<30}{:>9.1f}{:>10.1f}{:>10.1f}{:>12.1f}{:>9.1f}{:>9.0f}{:>17.2f}{:>11.1e}"
                   "{:>11.1e}\n",
                   row.name, Median(row.step_ms), Quantile(row.step_ms, 0),
                   Quantile(row.step_ms, 1), Median(row.worker_cpu_ms), Median(row.all_cpu_ms),
                   Median(row.minor_faults), Median(row.speed), row.loss.last, row.loss.largest)
            << std::flush;
}

nlohmann::ordered_json Json(const std::string& part, const StepRow& row, const StepTask& task) {
  return {
      {"name", part},
      {"contender", row.name},
      {"parameters", task.parameters()},
      {"batch", task.batch},
      {"workers", task.workers},
      {"shards", task.shards},
      {"threads", task.threads},
      {"device", task.device},
      {"precision", task.precision},
      {"steps", task.steps},
      {"rounds", row.step_ms.size()},
      {"step_ms", Median(row.step_ms)},
      {"step_ms_least", Quantile(row.step_ms, 0)},
      {"step_ms_most", Quantile(row.step_ms, 1)},
      {"samples_per_s", 1e3 * static_cast<double>(task.batch * task.workers) / Median(row.step_ms)},
      {"compute_ms", Median(row.compute_ms)},
      {"commit_ms", Median(row.commit_ms)},
      {"worker_cpu_ms", Median(row.worker_cpu_ms)},
      {"all_cpu_ms", Median(row.all_cpu_ms)},
      {"minor_faults", Median(row.minor_faults)},
      {"speed_to_pytorch", Median(row.speed)},
      {"loss_difference_last", row.loss.last},
      {"loss_difference_largest", row.loss.largest}};
}

}  // namespace paceline::bench
