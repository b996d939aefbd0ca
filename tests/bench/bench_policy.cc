// Measures what policies take to decide: the time of one event, with 100, 1,000 and 10,000 workers;
// what a push takes on its whole way through coordination; and what the server's driver takes of a
// core at 10,000 facts a second.
//
//   bench_policy [STEPS] [SPEC...]       a spec as heads a trace, without batch= and workers=
//   bench_policy driver [RUNS] [SPEC...] the driver alone, medians of so many runs (1)
//
// Processor time of the deciding thread. Workers push when a made-up time has passed that differs
// from worker to worker and from step to step; each push, with what follows it, is one event. Spare
// is counted apart: it is given when releases are out.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <time.h>

#include "lib/sync/schemes/policy_factory.h"
#include "lib/telemetry/log.h"
#include "tests/bench/coordination_pushes.h"
#include "tests/bench/driver_load.h"
#include "tests/bench/report.h"

namespace paceline::bench {
namespace {

constexpr uint32_t kWorkers[] = {100, 1000, 10'000};
constexpr uint32_t kDriverWorkers[] = {100, 1000};
const std::vector<std::string> kDriverSpecs = {"BSP", "SSP", "DBW", "PSPlus"};
constexpr uint32_t kSamplesPerWorker = 64;
constexpr uint32_t kSpareBudget = 64;  // As the server gives.
constexpr uint64_t kEventsASpare = 16;

struct Due {
  double at = 0;
  WorkerId worker;
  Version based_on;
  uint32_t samples = 0;
  friend bool operator<(const Due& a, const Due& b) { return a.at > b.at; }
};

// Of this thread on a core, so that other programs do not count.
double ThreadMicroseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

class Bench {
 public:
  Bench(const std::string& text, uint32_t workers)
      : workers_(workers), sequences_(workers), on_(workers), busy_until_(workers) {
    auto spec = sync::ParsePolicySpec(
        fmt::format("{} batch={} workers={}", text, workers * kSamplesPerWorker, workers));
    if (!spec.ok()) {
      std::cerr << Message(spec.status()) << "\n";
      std::exit(2);
    }
    policy_ = sync::MakePolicy(*spec).value();
    for (uint32_t i = 0; i < workers; ++i) Tell(sync::WorkerJoined{WorkerId(i)});
    events_.clear();
  }

  // So many pushes of each worker.
  void Run(uint32_t steps) {
    for (uint64_t push = 0; push < uint64_t{steps} * workers_ && !due_.empty(); ++push) {
      const Due next = due_.top();
      due_.pop();
      now_ = next.at;
      sync::PushArrived event;
      event.worker = next.worker;
      event.sequence = Sequence(++sequences_[next.worker.value()]);
      event.based_on = next.based_on;
      event.samples = next.samples;
      event.gradient = {.loss = 1 / (1 + 0.01 * now_), .squared_norm = 1};
      event.timing.compute = Seconds(next.samples / Speed(next.worker));
      event.signals = {.cpu_available = Chance(), .memory_available = 4e9};
      Tell(event);
    }
  }

  std::vector<double> events_;  // Microseconds.
  std::vector<double> spares_;

 private:
  double Chance() {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  double Speed(WorkerId worker) {
    return (100 + worker.value() % 7 * 20.0) * (0.9 + 0.2 * Chance());
  }

  // Steps after the one that it is in, if it is.
  void GoOn(WorkerId worker, Version version, uint32_t samples) {
    double& busy_until = busy_until_[worker.value()];
    busy_until = std::max(busy_until, now_) + samples / Speed(worker);
    on_[worker.value()] = version;
    due_.push({busy_until, worker, version, samples});
  }

  void Tell(const sync::Event& event) {
    std::vector<sync::Decision> decisions;
    const Time now{Seconds(now_)};
    const double begin = ThreadMicroseconds();
    policy_->Observe(event, now, decisions);
    const double end = ThreadMicroseconds();
    const bool is_spare = std::holds_alternative<sync::Spare>(event);
    (is_spare ? spares_ : events_).push_back(end - begin);
    std::vector<Version> committed;
    for (const sync::Decision& decision : decisions) {
      if (std::holds_alternative<sync::Commit>(decision)) {
        version_ = version_.Next();
        committed.push_back(version_);
      } else if (const auto* release = std::get_if<sync::Release>(&decision)) {
        GoOn(release->worker, release->version, release->assignment.samples);
      } else if (const auto* go_on = std::get_if<sync::Continue>(&decision)) {
        GoOn(go_on->worker, on_[go_on->worker.value()], go_on->assignment.samples);
      } else if (const auto* offer = std::get_if<sync::Offer>(&decision)) {
        on_[offer->worker.value()] = offer->version;
      }
    }
    for (const Version version : committed)
      Tell(sync::StepCommitted{.version = version, .learning_rate = 0.1, .squared_norm = 1});
    if (is_spare || !policy_->WantsSpare() || ++wanted_ % kEventsASpare != 0) return;
    Tell(sync::Spare{kSpareBudget});
  }

  uint32_t workers_;
  std::vector<uint64_t> sequences_;
  std::vector<Version> on_;         // What each worker is on, or will be after its step.
  std::vector<double> busy_until_;  // By worker.
  std::unique_ptr<sync::Policy> policy_;
  std::priority_queue<Due> due_;
  Version version_;
  double now_ = 0;
  uint64_t state_ = 1;
  uint64_t wanted_ = 0;  // Events after which Spare was wanted.
};

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

void TimePushes(uint32_t steps, nlohmann::ordered_json& rows) {
  fmt::print("\n{:24} {:>8} {:>10}\n", "push, all of it", "workers", "mean us");
  for (const sync::Scheme scheme : {sync::Scheme::kBsp, sync::Scheme::kSsp, sync::Scheme::kAsp}) {
    for (const uint32_t workers : kWorkers) {
      const double mean = PushMicroseconds(scheme, workers, steps);
      fmt::print("{:24} {:>8} {:>10.2f}\n", sync::ToString(scheme), workers, mean);
      std::fflush(stdout);
      rows.push_back({{"name", fmt::format("push {}", sync::ToString(scheme))},
                      {"workers", workers},
                      {"push_us_mean", mean}});
    }
  }
}

// Whole and bare in turns, so that a machine that slows down slows both.
void TimeDriver(int runs, const std::vector<std::string>& specs, nlohmann::ordered_json& rows) {
  telemetry::ConfigureLog({.level = telemetry::LogLevel::kWarning});
  fmt::print("\n{:24} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "driver, of a core", "workers",
             "whole %", "whole us", "bare %", "bare us", "facts/s");
  for (const std::string& spec : specs) {
    for (const uint32_t workers : kDriverWorkers) {
      std::vector<double> core[2], fact[2], rate;
      for (int run = 0; run < runs; ++run) {
        for (const bool is_whole : {true, false}) {
          const DriverCost cost =
              MeasureDriver({.scheme = spec, .workers = workers, .is_whole = is_whole});
          core[is_whole].push_back(100 * cost.core);
          fact[is_whole].push_back(cost.fact_us);
          if (is_whole) rate.push_back(cost.facts_per_second);
        }
      }
      fmt::print("{:24} {:>8} {:>10.1f} {:>10.2f} {:>10.1f} {:>10.2f} {:>10.0f}\n", spec, workers,
                 Median(core[1]), Median(fact[1]), Median(core[0]), Median(fact[0]), Median(rate));
      std::fflush(stdout);
      rows.push_back({{"name", fmt::format("driver {}", spec)},
                      {"workers", workers},
                      {"core_percent", Median(core[1])},
                      {"fact_us", Median(fact[1])},
                      {"bare_core_percent", Median(core[0])},
                      {"bare_fact_us", Median(fact[0])},
                      {"facts_per_s", Median(rate)}});
    }
  }
}

int DriverMain(int count, char** arguments) {
  const int runs = count > 2 ? std::max(std::atoi(arguments[2]), 1) : 1;
  std::vector<std::string> specs(arguments + std::min(count, 3), arguments + count);
  if (specs.empty()) specs = kDriverSpecs;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  TimeDriver(runs, specs, rows);
  return WriteRows(rows, JsonPathFromEnvironment());
}

int Main(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == "driver") return DriverMain(count, arguments);
  const uint32_t steps = count > 1 ? static_cast<uint32_t>(std::atoi(arguments[1])) : 20;
  std::vector<std::string> specs(arguments + std::min(count, 2), arguments + count);
  if (specs.empty()) {
    specs = {"BSP",
             "BackupWorkers",
             "SSP",
             "ASP",
             "DBW",
             "DBW dbw-method=blind",
             "BSP sizing=EMA",
             "BSP sizing=NARX",
             "BSP sizing=Stepwise",
             "DBW sizing=EMA",
             "WBSP",
             "WBSP basic",
             "PSPlus",
             "KAsync quorum=100",
             "KBatchAsync quorum=100",
             "Auto",
             "BackupWorkers late=weigh",
             "DBW dbw-method=blind meanwhile=eager-pull sizing=NARX",
             "DBW sizing=NARX",
             "WBSP sizing=NARX",
             "SSP modulate=staleness sizing=EMA",
             "SSP sizing=NARX",
             "ASP modulate=progress-gap",
             "BackupWorkers meanwhile=eager-pull",
             "DBW dbw-method=blind meanwhile=local-steps"};
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  fmt::print("{:54} {:>8} {:>10} {:>10} {:>10} {:>10}\n", "policy", "workers", "mean us", "p99 us",
             "most us", "spare us");
  for (const std::string& spec : specs) {
    for (const uint32_t workers : kWorkers) {
      Bench bench(spec, workers);
      bench.Run(steps);
      const double mean = Mean(bench.events_), p99 = Quantile(bench.events_, 0.99);
      const double most = Quantile(bench.events_, 1), spare = Mean(bench.spares_);
      fmt::print("{:54} {:>8} {:>10.2f} {:>10.2f} {:>10.1f} {:>10.1f}\n", spec, workers, mean, p99,
                 most, spare);
      std::fflush(stdout);
      rows.push_back({{"name", spec},
                      {"workers", workers},
                      {"event_us_mean", mean},
                      {"event_us_p99", p99},
                      {"event_us_most", most},
                      {"spare_us_mean", spare}});
    }
  }
  if (count <= 2) {
    TimePushes(steps, rows);
    TimeDriver(1, kDriverSpecs, rows);
  }
  return WriteRows(rows, JsonPathFromEnvironment());
}

}  // namespace
}  // namespace paceline::bench

int main(int count, char** arguments) { return paceline::bench::Main(count, arguments); }
