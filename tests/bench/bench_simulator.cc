// How fast the simulator is: its queue alone, and whole lives with coordination and policy, by the
// number of workers.
//
//   bench_simulator [--small | --life POLICY WORKERS PUSHES]
//
// Rows are written to the file that JSON=FILE in the environment names. Goals: a million events a
// second of the queue alone; 10,000 workers for 1,000 steps, ten million pushes, within 60 s.
#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include "simulator/driver/cluster.h"
#include "simulator/kernel/event_queue.h"
#include "simulator/kernel/random_stream.h"
#include "tests/bench/report.h"

namespace paceline::bench {
namespace {

using simulator::ClusterOptions;

double ProcessSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// The hold model: one is taken, another comes later.
void MeasureQueue(uint64_t full, uint64_t events, nlohmann::ordered_json& json) {
  simulator::EventQueue<uint64_t> queue;
  simulator::RandomStream chance(1, "times");
  for (uint64_t i = 0; i < full; ++i) queue.Put(Time(Duration(chance.Next() % 1'000'000)), i);
  const double begin = ProcessSeconds();
  for (uint64_t i = 0; i < events; ++i) {
    const auto [at, number] = queue.Take();
    queue.Put(at + Duration(chance.Next() % 1'000'000), number);
  }
  const double seconds = ProcessSeconds() - begin;
  std::cout << fmt::format("{:>8} {:>12.2f} million events a second\n", full,
                           static_cast<double>(events) / seconds / 1e6);
  json.push_back({{"part", "queue"},
                  {"full", full},
                  {"events_per_second", static_cast<double>(events) / seconds}});
}

void MeasureLife(const std::string& policy, uint32_t workers, uint64_t pushes,
                 nlohmann::ordered_json& json) {
  ClusterOptions options;
  options.policy = *sync::ParsePolicySpec(policy);
  options.policy.global_batch_size = 8 * workers;
  for (uint32_t i = 0; i < workers; ++i)
    options.workers.push_back(
        {.per_sample_seconds = 0.1, .jitter = simulator::ShiftedExponential{0.8, 0.2}});
  options.network = {.latency_seconds = 0.001, .server_bytes_per_second = 1e10, .bytes = 1e6};
  options.learning_rate = 0.1;
  const bool has_barrier = !policy.starts_with("ASP");
  options.steps_max = has_barrier ? std::max<uint64_t>(1, pushes / workers) : pushes;
  const double begin = ProcessSeconds();
  const StatusOr<simulator::Life> life = simulator::Simulate(options);
  const double seconds = ProcessSeconds() - begin;
  if (!life.ok()) {
    std::cerr << policy << ": " << Message(life.status()) << '\n';
    std::exit(1);
  }
  const auto made = static_cast<double>(life->pushes);
  std::cout << fmt::format("{:<28} {:>8} {:>10} {:>8.2f} {:>12.2f} {:>14.2f} {:>8.0f}\n", policy,
                           workers, life->pushes, seconds, seconds / made * 1e6,
                           static_cast<double>(life->happenings) / seconds / 1e6, PeakMegabytes());
  json.push_back({{"part", "life"},
                  {"policy", policy},
                  {"workers", workers},
                  {"pushes", life->pushes},
                  {"seconds", seconds},
                  {"push_us", seconds / made * 1e6},
                  {"events_per_second", static_cast<double>(life->happenings) / seconds},
                  {"peak_megabytes", PeakMegabytes()}});
}

}  // namespace
}  // namespace paceline::bench

int main(int argc, char** argv) {
  using namespace paceline::bench;
  const bool is_small = argc > 1 && std::string_view(argv[1]) == "--small";
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  if (argc == 5 && std::string_view(argv[1]) == "--life") {
    MeasureLife(argv[2], static_cast<uint32_t>(std::stoul(argv[3])), std::stoull(argv[4]), json);
    return WriteRows(json, JsonPathFromEnvironment());
  }
  std::cout << "The queue alone, so many in it:\n";
  for (const uint64_t full : {100, 1000, 10'000})
    MeasureQueue(full, is_small ? 10'000 : 5'000'000, json);
  std::cout << fmt::format("\n{:<28} {:>8} {:>10} {:>8} {:>12} {:>14} {:>8}\n", "Whole lives",
                           "workers", "pushes", "s", "us a push", "Mevents/s", "peak MB");
  const std::vector<std::string> policies = {"BSP", "ASP", "BackupWorkers backup=10", "DBW"};
  for (const std::string& policy : policies) {
    for (const uint32_t workers : {100u, 1000u, 10'000u}) {
      // The refits of DBW's table of durations take the cube of the workers, as they do live.
      if (policy == "DBW" && workers > (is_small ? 100u : 1000u)) continue;
      MeasureLife(policy, workers, is_small ? 2 * workers : 1'000'000, json);
    }
  }
  if (!is_small) MeasureLife("BSP", 10'000, 10'000'000, json);
  return WriteRows(json, JsonPathFromEnvironment());
}
