// How fast the operator makes pods, and what that costs: against a real kube-apiserver with a
// scheduler and fake nodes, beside the same pods created without an operator, which is the server's
// limit, and beside Kubeflow's training-operator.
//
//   bench_operator                 one job of 100 workers, 50 jobs of 10, 1,000 suspended jobs
//   bench_operator 50x10           that alone, of Paceline's operator alone
//   bench_operator 1x100 kubeflow  that alone, of both
//   JSON=FILE bench_operator       writes the rows as well
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/bench/operator_contender.h"
#include "tests/bench/operator_load.h"
#include "tests/bench/operator_nodes.h"
#include "tests/bench/report.h"

namespace paceline::bench {
namespace {

using operator_test::World;

constexpr int kNodes = 10;
constexpr int kConnections = 16;  // Of the raw client that others are held against.
constexpr int kFewConnections = 4;
constexpr int kRounds = 9;  // Medians of so many; of Kubeflow's many jobs, a minute each, of one.
constexpr int kSuspendedJobs = 1000;
constexpr double kRestSeconds = 60;
constexpr double kSettleSeconds = 15;

struct Shape {
  int jobs, workers;
  int pods() const { return jobs * (workers + kServers); }
};
constexpr Shape kShapes[] = {{1, 100}, {50, 10}};

// The middle one, by speed; of its CPU the middle of all, of memory the most.
Measured Middle(std::vector<Measured> rounds) {
  std::vector<double> cpu;
  for (const Measured& round : rounds) cpu.push_back(round.cpu_seconds);
  std::sort(rounds.begin(), rounds.end(), [](const Measured& a, const Measured& b) {
    return a.creation.seconds < b.creation.seconds;
  });
  Measured middle = rounds[rounds.size() / 2];
  middle.cpu_seconds = Median(cpu);
  for (const Measured& round : rounds)
    middle.resident_mb = std::max(middle.resident_mb, round.resident_mb);
  return middle;
}

// Shares of what raw POSTs reach.
struct Shares {
  double of_pods = 0;  // Of POSTs of the pods alone.
  double of_all = 0;   // Of POSTs of all that is made, the jobs with it.
};

class Report {
 public:
  void Raw(int pods, int connections, const Measured& measured) {
    Add(fmt::format("raw, {} pods, {} connections", pods, connections), measured);
    std::cout << std::endl;
  }
  void RawObjects(const Contender& contender, const Shape& shape, const Measured& measured) {
    Add(fmt::format("raw, all of {}'s {} x {}", contender.name(), shape.jobs, shape.workers),
        measured);
    std::cout << std::endl;
  }
  void Jobs(const Contender& contender, const Shape& shape, const Measured& measured,
            const Shares& by_clock, const Shares& by_cpu) {
    Add(fmt::format("{}, {} x {}", contender.name(), shape.jobs, shape.workers), measured);
    const double cpu_ms = measured.cpu_seconds / measured.pods * 1e3;
    const double writes = static_cast<double>(measured.writes) / measured.pods;
    std::cout
        << fmt::format(
               "  {:.2f} of raw, {:.2f} of raw with all that is made (by CPU {:.2f} and {:.2f})  "
               "{:>5.2f} ms CPU, {:.2f} writes a pod  RSS {:.1f} MB",
               by_clock.of_pods, by_clock.of_all, by_cpu.of_pods, by_cpu.of_all, cpu_ms, writes,
               measured.resident_mb)
        << std::endl;
    rows_.back()["ratio_to_raw"] = by_clock.of_pods;
    rows_.back()["ratio_to_raw_objects"] = by_clock.of_all;
    rows_.back()["cpu_ratio_to_raw"] = by_cpu.of_pods;
    rows_.back()["cpu_ratio_to_raw_objects"] = by_cpu.of_all;
    rows_.back()["cpu_ms_per_pod"] = cpu_ms;
    rows_.back()["writes_per_pod"] = writes;
    rows_.back()["rss_mb"] = measured.resident_mb;
  }
  void Rest(const Contender& contender, int jobs, const AtRest& rest, double seconds) {
    const std::string name = jobs == 0 ? fmt::format("{}, at rest", contender.name())
                                       : fmt::format("{}, {} idle jobs", contender.name(), jobs);
    std::cout << fmt::format("{:<34} RSS {:.1f} MB", name, rest.resident_mb);
    rows_.push_back({{"name", name}, {"rss_mb", rest.resident_mb}});
    if (jobs > 0) {
      std::cout << fmt::format("  {} writes and {:.2f} s CPU in {} s", rest.writes,
                               rest.cpu_seconds, seconds);
      rows_.back()["writes"] = rest.writes;
      rows_.back()["cpu_s"] = rest.cpu_seconds;
      rows_.back()["seconds"] = seconds;
    }
    std::cout << std::endl;
  }
  const nlohmann::ordered_json& rows() const { return rows_; }

 private:
  void Add(const std::string& name, const Measured& measured) {
    const Creation& creation = measured.creation;
    std::cout << fmt::format("{:<34} {:>7.2f} s {:>7.2f} s CPU of all {:>7.1f} pods/s", name,
                             creation.seconds, creation.cpu_seconds, measured.pods_per_second());
    rows_.push_back({{"name", name},
                     {"pods", measured.pods},
                     {"seconds", creation.seconds},
                     {"cpu_s_of_all", creation.cpu_seconds},
                     {"pods_per_s", measured.pods_per_second()}});
  }

  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

// Raw pods before and after everything, raw objects after each run of jobs: the machine's speed
// changes within minutes, and what a run is held against is the mean of what stood on either side.
bool MeasureShape(Load& load, const Contender& contender, const Shape& shape, int rounds,
                  Report& report) {
  std::vector<Measured> raw, all, ours;
  const auto take = [](std::vector<Measured>& taken, const std::optional<Measured>& measured) {
    if (measured) taken.push_back(*measured);
    return measured.has_value();
  };
  if (!take(raw, load.RawPods(contender, shape.pods(), kConnections))) return false;
  for (int round = 0; round < rounds; ++round) {
    if (!take(ours, load.Jobs(contender, shape.jobs, shape.workers)) ||
        !take(all, load.RawObjects(contender, kConnections)) ||
        !take(raw, load.RawPods(contender, shape.pods(), kConnections))) {
      return false;
    }
  }
  const auto share = [&](double Creation::*cost) {
    std::vector<double> of_pods, of_all;
    for (int round = 0; round < rounds; ++round) {
      const double own = ours[round].creation.*cost;
      of_pods.push_back((raw[round].creation.*cost + raw[round + 1].creation.*cost) / 2 / own);
      of_all.push_back(all[round].creation.*cost / own);
    }
    return Shares{Median(of_pods), Median(of_all)};
  };
  report.Raw(shape.pods(), kConnections, Middle(raw));
  report.RawObjects(contender, shape, Middle(all));
  report.Jobs(contender, shape, Middle(ours), share(&Creation::seconds),
              share(&Creation::cpu_seconds));
  return true;
}

// `rounds_of_many`: of the shape with many jobs, which takes some a minute.
bool Measure(Load& load, const Contender& contender, std::span<const Shape> shapes,
             int rounds_of_many, Report& report) {
  report.Rest(contender, 0, load.Rest(contender, kSettleSeconds), kSettleSeconds);
  // What the server builds when it is first asked for a kind is its own business.
  if (!load.Jobs(contender, 1, 10)) return false;
  for (const Shape& shape : shapes) {
    const int rounds = shape.jobs > 1 ? rounds_of_many : kRounds;
    if (!MeasureShape(load, contender, shape, rounds, report)) return false;
  }
  return true;
}

bool MeasureIdleJobs(Load& load, const Contender& contender, Report& report) {
  const auto idle = load.SuspendedJobs(contender, kSuspendedJobs, kRestSeconds);
  if (!idle) return false;
  report.Rest(contender, kSuspendedJobs, *idle, kRestSeconds);
  return true;
}

bool Fail(const Contender& contender) {
  std::cerr << "not all pods came in time; the log of " << contender.name() << ":\n"
            << contender.Log();
  return false;
}

// "50x10"; nothing for anything else.
std::optional<Shape> ParseShape(const std::string& text) {
  Shape shape{};
  char end = 0;
  if (std::sscanf(text.c_str(), "%dx%d%c", &shape.jobs, &shape.workers, &end) != 2 ||
      shape.jobs < 1 || shape.workers < 1) {
    return std::nullopt;
  }
  return shape;
}

// What was asked for on the command line.
struct Wanted {
  std::optional<Shape> only;  // Absent: all shapes, idle jobs, few connections.
  bool with_kubeflow = true;

  std::span<const Shape> shapes() const { return only ? std::span(&*only, 1) : kShapes; }
};

bool MeasurePaceline(World& world, Load& load, const Wanted& wanted, Report& report) {
  const auto paceline = StartPaceline(world);
  if (paceline == nullptr) return false;
  if (!Measure(load, *paceline, wanted.shapes(), kRounds, report)) return Fail(*paceline);
  if (wanted.only) return true;
  if (!MeasureIdleJobs(load, *paceline, report)) return Fail(*paceline);
  const auto few = load.RawPods(*paceline, kShapes[0].pods(), kFewConnections);
  if (few) report.Raw(kShapes[0].pods(), kFewConnections, *few);
  return true;
}

// Without the idle jobs: it takes minutes until it has looked at so many.
bool MeasureKubeflow(World& world, Load& load, const Wanted& wanted, Report& report) {
  const auto kubeflow = StartTrainingOperator(world);
  if (!kubeflow.ok()) {
    std::cout << "no training-operator beside it: " << Message(kubeflow.status()) << "\n";
    return true;
  }
  return Measure(load, **kubeflow, wanted.shapes(), 1, report) || Fail(**kubeflow);
}

int Run(const Wanted& wanted) {
  World* const world = World::Get();
  if (world == nullptr) return 77;
  const auto nodes = FakeNodes::Start(*world, kNodes);
  if (!nodes.ok()) std::cout << "pods will not run: " << Message(nodes.status()) << "\n";
  Load load(*world, nodes.ok() ? nodes->get() : nullptr);
  Report report;
  if (!MeasurePaceline(*world, load, wanted, report)) return 1;
  if (wanted.with_kubeflow && !MeasureKubeflow(*world, load, wanted, report)) return 1;
  return WriteRows(report.rows(), JsonPathFromEnvironment());
}

}  // namespace
}  // namespace paceline::bench

int main(int argc, char** argv) {
  if (argc < 2) return paceline::bench::Run({});
  const auto only = paceline::bench::ParseShape(argv[1]);
  const bool with_kubeflow = argc == 3 && std::string_view(argv[2]) == "kubeflow";
  if (only && (argc == 2 || with_kubeflow))
    return paceline::bench::Run({.only = only, .with_kubeflow = with_kubeflow});
  std::cerr << "usage: bench_operator [JOBSxWORKERS [kubeflow]], such as 50x10\n";
  return 2;
}
