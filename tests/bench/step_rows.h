// Defines StepRow: one contender of a table of bench_step, over all rounds.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/bench/step_runs.h"

namespace paceline::bench {

struct StepRow {
  std::string name;
  std::vector<double> step_ms = {}, worker_cpu_ms = {}, all_cpu_ms = {}, minor_faults = {};
  std::vector<double> compute_ms = {}, commit_ms = {};  // As StepRun has them.
  // Of the peer's step in the same round, how many there are in that time.
  std::vector<double> speed = {};
  LossDifference loss = {};  // The largest over the rounds.

  // Its speed is measured by `peer`, its losses by `reference`.
  void Add(const StepRun& run, const StepRun& peer, const StepRun& reference);
  void Add(const StepRun& run, const StepRun& peer) { Add(run, peer, peer); }
};

void PrintHead();
void Print(const StepRow& row);

// What the rows of all parts have.
nlohmann::ordered_json Json(const std::string& part, const StepRow& row, const StepTask& task);

}  // namespace paceline::bench
