#include "tests/bench/step_precision.h"

#include <deque>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "tests/bench/step_rows.h"

namespace paceline::bench {
namespace {

constexpr const char* kPrecisions[] = {"Float32", "BFloat16", "Float16"};

// The task in one of them.
struct Contest {
  Contest(const StepTask& task, const StepPlaces& places)
      : folder(task, places),
        pytorch{.name = "PyTorch's own loop, " + task.precision},
        paceline{.name = "Paceline, " + task.precision} {}

  StepFolder folder;
  StepRow pytorch, paceline;
};

}  // namespace

bool RunPrecision(const StepTask& task, const StepPlaces& places, const Transport& transport,
                  int rounds, double loss_difference_max, nlohmann::ordered_json& json) {
  std::deque<Contest> contests;
  for (const char* precision : kPrecisions) {
    StepTask one = task;
    one.precision = precision;
    contests.emplace_back(one, places);
  }
  for (int round = 0; round < rounds; ++round) {
    std::optional<StepRun> exact;  // PyTorch's, in Float32.
    for (Contest& contest : contests) {
      const StepRun peer = contest.folder.RunLoop();
      if (!exact) exact = peer;
      contest.pytorch.Add(peer, peer, *exact);
      contest.paceline.Add(contest.folder.RunPaceline(transport), peer, *exact);
    }
  }
  std::cout << fmt::format(
      "\nReduced precision (training.precision; autocast and GradScaler): losses beside PyTorch's "
      "in Float32\n{} parameters, {} workers, {} shards, batch {} a worker, device {}, threads {}, "
      "{} steps, rounds {}\n",
      task.parameters(), task.workers, task.shards, task.batch, task.device, task.threads,
      task.steps, rounds);
  PrintHead();
  for (const Contest& contest : contests) {
    for (const StepRow* const row : {&contest.pytorch, &contest.paceline}) {
      Print(*row);
      json.push_back(Json("precision", *row, contest.folder.task()));
    }
  }
  return contests.front().paceline.loss.last <= loss_difference_max;
}

}  // namespace paceline::bench
