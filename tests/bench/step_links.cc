#include "tests/bench/step_links.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "tests/bench/links.h"
#include "tests/bench/report.h"
#include "tests/bench/step_rows.h"

namespace paceline::bench {
namespace {

constexpr const char* kRule =
    "Each worker has a link of its own to the shards (network namespaces, veth, tbf at both ends: "
    "so "
    "much in each direction at once),\nas machines have; the shards are on one side, where nothing "
    "is "
    "throttled. TCP, no TLS; BSP; DDP's ranks use the same links.\n"
    "Alone: what the numbers of one worker's step need at the link's rate, with nothing else in "
    "them: "
    "the push and then the pull; for\nDDP, an all-reduce among n, 2 (n - 1) / n of the gradients. "
    "Hidden: 1 - (step - compute) / alone: the part of that time which the\nstep does not show. 0: "
    "all of it; below 0: headers, copies, commits and waits come on top. Compute: as workers tell "
    "it, "
    "of the row\nin which nothing travels meanwhile. Commit: from the last push to the new "
    "version. "
    "CPU %: of one core, worker 0 and all\nprocesses, over the step.";

// What one contender asks for.
struct Part {
  const char* name;
  bool rounds_gradients;
  bool rounds_parameters;
  bool has_buckets;
};

constexpr Part kParts[] = {
    {"off", false, false, false},
    {"buckets", false, false, true},
    {"BFloat16 gradients", true, false, false},
    {"BFloat16 parameters", false, true, false},
    {"BFloat16 both", true, true, false},
    {"BFloat16 both, buckets", true, true, true},
};

std::vector<std::string> OverridesOf(const Part& part, const StepTask& task) {
  const auto type = [](bool is_rounded) { return is_rounded ? "BFloat16" : "Float32"; };
  // As large as the model: its gradients travel at the end of the backward pass.
  const uint64_t whole = std::max<uint64_t>(4 * task.parameters(), 65'536);
  return {fmt::format("spec.network.gradientType={}", type(part.rounds_gradients)),
          fmt::format("spec.network.parameterType={}", type(part.rounds_parameters)),
          fmt::format("spec.network.bucketBytes={}", part.has_buckets ? 4 << 20 : whole)};
}

double AloneMs(double bytes, double gigabits) { return 1e3 * 8 * bytes / (1e9 * gigabits); }

double AloneMs(const Part& part, const StepTask& task, double gigabits) {
  const double bytes = (part.rounds_gradients ? 2.0 : 4.0) + (part.rounds_parameters ? 2.0 : 4.0);
  return AloneMs(bytes * static_cast<double>(task.parameters()), gigabits);
}

struct Row {
  StepRow of;
  double alone_ms = 0;
  bool is_exact = true;

  double HiddenPercent(double compute_ms) const {
    return 100 * (1 - (Median(of.step_ms) - compute_ms) / alone_ms);
  }
};

void Print(const Row& row, double compute_ms) {
  const StepRow& of = row.of;
  const double step_ms = Median(of.step_ms);
  std::cout << fmt::format(
                   "{:<34}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>8.1f}{:>9.1f}{:>9.1f}{:>9.0f}"
                   "{:>9.0f}{:>9.2f}{:>11.1e}\n",
                   of.name, step_ms, Quantile(of.step_ms, 0), Quantile(of.step_ms, 1), row.alone_ms,
                   row.HiddenPercent(compute_ms), compute_ms, Median(of.commit_ms),
                   100 * Median(of.worker_cpu_ms) / step_ms, 100 * Median(of.all_cpu_ms) / step_ms,
                   Median(of.speed), of.loss.last)
            << std::flush;
}

// False if what travels exactly has other losses than DDP.
bool RunRate(const StepFolder& folder, const LinkPlaces& places, const LinksOptions& options,
             double gigabits, double loss_difference_max, nlohmann::ordered_json& json) {
  const StepTask& task = folder.task();
  const double gradients = 4.0 * static_cast<double>(task.parameters());
  const auto workers = static_cast<double>(task.workers);
  std::vector<Row> rows(1);
  rows[0].of.name = "DDP, gloo";
  rows[0].alone_ms = AloneMs(2 * (workers - 1) / workers * gradients, gigabits);
  for (const Part& part : kParts) {
    rows.push_back({.of = {.name = fmt::format("Paceline, {}", part.name)},
                    .alone_ms = AloneMs(part, task, gigabits),
                    .is_exact = !part.rounds_gradients && !part.rounds_parameters});
  }
  for (int round = 0; round < options.rounds; ++round) {
    const StepRun peer = folder.RunDdp(places);
    rows[0].of.Add(peer, peer);
    for (size_t i = 0; i < std::size(kParts); ++i) {
      rows[1 + i].of.Add(folder.RunPaceline(places, OverridesOf(kParts[i], task)), peer);
    }
  }
  std::cout << fmt::format(
      "\n{:g} Gbit/s a worker, {} parameters, {} workers, {} shards, batch {} a worker, {} steps, "
      "rounds {}\n",
      gigabits, task.parameters(), task.workers, task.shards, task.batch, task.steps,
      options.rounds);
  std::cout << fmt::format("{:<34}{:>9}{:>9}{:>9}{:>9}{:>8}{:>9}{:>9}{:>9}{:>9}{:>9}{:>11}\n", "",
                           "step", "least", "most", "alone", "hidden", "compute", "commit", "CPU %",
                           "all CPU", "to DDP", "last loss");
  const double compute_ms = Median(rows[1].of.compute_ms);
  bool agrees = true;
  for (const Row& row : rows) {
    Print(row, compute_ms);
    json.push_back(Json("links", row.of, task));
    json.back().update({{"gigabits", gigabits},
                        {"alone_ms", row.alone_ms},
                        {"hidden_percent", row.HiddenPercent(compute_ms)}});
    agrees = agrees && (!row.is_exact || row.of.loss.last <= loss_difference_max);
  }
  return agrees;
}

}  // namespace

StatusOr<bool> RunLinks(const LinksOptions& options, double loss_difference_max,
                        nlohmann::ordered_json& json) {
  std::unique_ptr<StepFolder> folder;
  bool agrees = true;
  for (const double gigabits : options.gigabits) {
    PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<Links> links,
                              Links::Make(options.task.workers, gigabits));
    if (folder == nullptr) {
      std::cout << "\n" << kRule << std::endl;
      folder = std::make_unique<StepFolder>(options.task, options.places);
    }
    agrees =
        RunRate(*folder, links->places(), options, gigabits, loss_difference_max, json) && agrees;
  }
  return agrees;
}

}  // namespace paceline::bench
