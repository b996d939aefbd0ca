// Measures the control path of a step: last push arrived to release sent.
//
//   bench_control [--json FILE] [--steps N] [--parameters N]      (or JSON=FILE in the environment)
//
// Coordinator (with a shard), one more shard and each worker are processes of their own that speak
// the real protocol over Unix sockets, as `paceline run` starts them; BSP, SGD with momentum. A
// worker's step is a millisecond of busy waiting.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "lib/telemetry/log.h"
#include "tests/bench/control_processes.h"
#include "tests/bench/report.h"

namespace paceline::bench {
namespace {

constexpr const char* kRule =
    "Microseconds in the coordinator, from the arrival of a step's last push (decoded, before the "
    "driver has it) until the last\nworker's release is handed to the transport; `first`: the "
    "first worker's. `shards`: from sending the commit to the first\nshard until the last one has "
    "acknowledged. Policy, ledgers and hand-overs all belong to it. `raw round trip`: a byte to "
    "another process and back, bare, in turns with\nthe rows. The coordinator has a core of its "
    "own, "
    "as on a node of its own; the others share the rest.";

struct Options {
  std::string json_path = JsonPathFromEnvironment();
  uint64_t steps = 2000;
  uint64_t parameters = 100'000;
};

// A message to another process and one back, on a machine that has rested a moment: what two
// wake-ups cost here and now. Every step waits for at least one such round trip, to the shard.
double RoundTripMicroseconds() {
  constexpr int kRounds = 300;
  ChildProcess echo([](Line& line) {
    for (int i = 0; i < kRounds; ++i) line.Send(line.Receive<int>());
  });
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    ::usleep(2000);  // sleeps: what is measured is a machine that has rested
    const double begin = SteadySeconds();
    echo.line().Send(i);
    (void)echo.line().Receive<int>();
    times.push_back(1e6 * (SteadySeconds() - begin));
  }
  return Median(times);
}

struct Row {
  uint32_t workers = 0;
  size_t steps = 0;
  double release_p50 = 0, release_p99 = 0, first_p50 = 0, shards_p50 = 0, shards_share = 0,
         round_trip_p50 = 0;
};

// The coordinator gets a core of its own, as on a node of its own: what is measured is its path,
// not how the workers' arithmetic gets in its way. Nothing where there is only one core.
void RunOn(bool is_coordinator) {
  cpu_set_t all, mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return;
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  if (is_coordinator) {
    CPU_SET(first, &mine);
  } else {
    mine = all;
    CPU_CLR(first, &mine);
  }
  (void)::sched_setaffinity(0, sizeof mine, &mine);
}

// One job from startup to end; its processes are gone when this returns.
std::vector<StepTimes> RunJob(const ControlSetup& setup) {
  ChildProcess coordinator([&](Line& line) {
    RunOn(true);
    RunControlCoordinator(setup, line);
  });
  ChildProcess shard([&](Line& line) {
    RunOn(false);
    RunControlShard(setup, line);
  });
  std::vector<ChildProcess> workers;
  for (uint32_t i = 0; i < setup.workers; ++i)
    workers.emplace_back([&, i](Line& line) {
      RunOn(false);
      RunControlWorker(setup, i, line);
    });
  std::vector<StepTimes> steps(coordinator.line().Receive<StepCount>().steps);
  for (StepTimes& step : steps) step = coordinator.line().Receive<StepTimes>();
  return steps;
}

Row Measure(uint32_t workers, const Options& options) {
  constexpr size_t kWarmUp = 100;
  const double round_trip = RoundTripMicroseconds();
  char folder[] = "/tmp/paceline-bench-XXXXXX";
  if (::mkdtemp(folder) == nullptr) Fail("no folder for sockets");
  std::vector<StepTimes> steps = RunJob({.workers = workers,
                                         .parameters = options.parameters,
                                         .steps = options.steps + kWarmUp,
                                         .folder = folder});
  std::filesystem::remove_all(folder);
  if (steps.size() <= kWarmUp) Fail("no step was measured");
  steps.erase(steps.begin(), steps.begin() + kWarmUp);
  std::vector<double> release, first, shards;
  for (const StepTimes& step : steps) {
    release.push_back(step.release);
    first.push_back(step.first_release);
    shards.push_back(step.shards);
  }
  const auto sum = [](const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0);
  };
  return {.workers = workers,
          .steps = steps.size(),
          .release_p50 = Median(release),
          .release_p99 = Quantile(release, 0.99),
          .first_p50 = Median(first),
          .shards_p50 = Median(shards),
          .shards_share = sum(shards) / sum(release),
          .round_trip_p50 = round_trip};
}

std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--json" && !value.empty()) {
      options.json_path = value;
    } else if (flag == "--steps" && std::atoll(value.c_str()) > 0) {
      options.steps = static_cast<uint64_t>(std::atoll(value.c_str()));
    } else if (flag == "--parameters" && std::atoll(value.c_str()) > 0) {
      options.parameters = static_cast<uint64_t>(std::atoll(value.c_str()));
    } else {
      return std::nullopt;
    }
  }
  return options;
}

int Run(int argc, char** argv) {
  const std::optional<Options> options = Parse(argc, argv);
  if (!options) {
    std::cerr << "usage: bench_control [--json FILE] [--steps N] [--parameters N]\n";
    return 2;
  }
  telemetry::ConfigureLog({.program = "bench_control", .level = telemetry::LogLevel::kWarning});
  std::cout << kRule
            << fmt::format("\n{} parameters, {} shards.\n\n", options->parameters, kControlShards)
            << fmt::format("{:>8}{:>8}{:>13}{:>13}{:>11}{:>12}{:>15}{:>16}\n", "workers", "steps",
                           "release p50", "release p99", "first p50", "shards p50", "shards' share",
                           "raw round trip")
            << std::flush;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const uint32_t workers : {1u, 2u, 4u}) {
    const Row row = Measure(workers, *options);
    std::cout << fmt::format("{:>8}{:>8}{:>13.0f}{:>13.0f}{:>11.0f}{:>12.0f}{:>14.0f}%{:>16.0f}\n",
                             row.workers, row.steps, row.release_p50, row.release_p99,
                             row.first_p50, row.shards_p50, 100 * row.shards_share,
                             row.round_trip_p50)
              << std::flush;
    rows.push_back({{"name", "release"},
                    {"workers", row.workers},
                    {"release_us_p50", row.release_p50},
                    {"release_us_p99", row.release_p99},
                    {"first_release_us_p50", row.first_p50},
                    {"shards_us_p50", row.shards_p50},
                    {"shards_share", row.shards_share},
                    {"round_trip_us_p50", row.round_trip_p50},
                    {"parameters", options->parameters},
                    {"steps", row.steps}});
  }
  return WriteRows(rows, options->json_path);
}

}  // namespace
}  // namespace paceline::bench

int main(int argc, char** argv) { return paceline::bench::Run(argc, argv); }
