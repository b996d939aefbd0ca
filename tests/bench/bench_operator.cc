// How fast the operator makes pods, and what that costs: against a real kube-apiserver without
// nodes, beside the same pods created without an operator, which is the server's limit.
//
//   bench_operator                 one job of 100 workers, then 50 jobs of 10
//   JSON=FILE bench_operator       writes the rows as well
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/kube/core/metadata.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"
#include "tests/operator/job.h"

namespace paceline::bench {
namespace {

using kube::Json;
using operator_test::OperatorProcess;
using operator_test::World;
using Clock = std::chrono::steady_clock;

constexpr double kDeadlineSeconds = 300;

// Counts pods as the server tells of them.
class PodCounter {
 public:
  explicit PodCounter(kube::Client& client) {
    watch_ = client.StartWatch(kube::Pods(), {.extent = kube::Extent::kMetadata},
                               {.event = [this](const kube::WatchEvent& event) { Count(event); },
                                .end = [](const Status&) {}});
  }

  // Nothing if that many have not come in time.
  std::optional<double> SecondsUntil(int pods, Clock::time_point since) {
    std::unique_lock lock(mutex_);
    const auto deadline = since + std::chrono::duration<double>(kDeadlineSeconds);
    if (!wake_.wait_until(lock, deadline, [&] { return pods_ >= pods; })) return std::nullopt;
    return std::chrono::duration<double>(Clock::now() - since).count();
  }
  int pods() {
    std::lock_guard lock(mutex_);
    return pods_;
  }

 private:
  void Count(const kube::WatchEvent& event) {
    if (event.type != kube::WatchEventType::kAdded) return;
    std::lock_guard lock(mutex_);
    ++pods_;
    wake_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  int pods_ = 0;
  kube::CallHandle watch_;
};

struct Row {
  std::string name;
  int pods = 0;
  double seconds = 0;
  std::optional<ProcessUsage> used;  // By the operator, of CPU; its memory at the end.
};

void Print(const Row& row) {
  std::cout << fmt::format("{:<44} {:>5} pods {:>7.2f} s {:>7.1f} pods/s", row.name, row.pods,
                           row.seconds, row.pods / row.seconds);
  if (row.used) {
    std::cout << fmt::format("  {:>5.2f} ms CPU a pod  RSS {:>5.1f} MB",
                             row.used->cpu_seconds / row.pods * 1e3, row.used->resident_mb);
  }
  std::cout << std::endl;
}

Json JobManifest(const std::string& name, int workers) {
  Json spec = operator_test::SmallSpec();
  spec["workers"] = {{"replicas", workers}};
  spec["training"]["globalBatchSize"] = workers * 8;
  return {{"apiVersion", "paceline.dev/v1alpha1"},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", name}}},
          {"spec", spec}};
}

void CreateJobs(World& world, const std::string& name_space, int jobs, int workers) {
  const std::string path = fmt::format("{}/jobs.json", world.server().folder());
  Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", Json::array()}};
  for (int i = 0; i < jobs; ++i)
    list["items"].push_back(JobManifest(fmt::format("job{}", i), workers));
  std::ofstream(path) << list;
  world.Kubectl(fmt::format("create -n {} -f {}", name_space, path));
}

std::optional<Row> MeasureOperator(World& world, OperatorProcess& process, PodCounter& counter,
                                   int jobs, int workers) {
  const int pods = jobs * (workers + 2);  // And two parameter servers each.
  const int before = counter.pods();
  const ProcessUsage used_before = UsageOf(process.pid());
  const std::string name_space = world.NewNamespace();
  const auto since = Clock::now();
  CreateJobs(world, name_space, jobs, workers);
  const auto seconds = counter.SecondsUntil(before + pods, since);
  if (!seconds) return std::nullopt;
  ProcessUsage used = UsageOf(process.pid());
  used.cpu_seconds -= used_before.cpu_seconds;
  return Row{fmt::format("operator, {} jobs x {} workers", jobs, workers), pods, *seconds, used};
}

// The operator's own pods, created again elsewhere by `connections` at a time.
std::optional<Row> MeasureRaw(World& world, PodCounter& counter, const std::string& from,
                              int connections, int pods) {
  const auto listed = world.client().ListAll(kube::Pods(), {.name_space = from});
  if (!listed.ok() || listed->items.empty()) return std::nullopt;
  Json pod = listed->items.front();
  const std::string name_space = world.NewNamespace();
  std::vector<kube::Request> requests;
  for (int i = 0; i < pods; ++i) {
    pod["metadata"] = {{"name", fmt::format("raw-{}", i)},
                       {"namespace", name_space},
                       {"labels", pod["metadata"].value("labels", Json::object())}};
    pod.erase("status");
    requests.push_back(kube::Create(kube::Pods(), pod));
  }
  const auto client =
      kube::Client::Create(world.client().config(), {.calls_in_flight_max = connections});
  if (!client.ok()) return std::nullopt;
  const int before = counter.pods();
  const auto since = Clock::now();
  (*client)->CallAll(std::move(requests));
  const auto seconds = counter.SecondsUntil(before + pods, since);
  if (!seconds) return std::nullopt;
  return Row{
      fmt::format("the API server's limit, {} connections", connections), pods, *seconds, {}};
}

int Run() {
  World* const world = World::Get();
  if (world == nullptr) return 77;
  PodCounter counter(world->client());
  OperatorProcess process(*world, {"--leader-elect=false"});
  if (!process.WaitForText("leading")) {
    std::cerr << process.Log();
    return 1;
  }
  std::cout << fmt::format("operator at rest: RSS {:.1f} MB\n", UsageOf(process.pid()).resident_mb);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  double raw = 0;  // Pods per second of the last raw row: the limit that others are held against.
  const auto note = [&rows, &raw](const std::optional<Row>& row) {
    if (!row) return false;
    Print(*row);
    const double pods_per_second = row->pods / row->seconds;
    rows.push_back({{"name", row->name},
                    {"pods", row->pods},
                    {"seconds", row->seconds},
                    {"pods_per_s", pods_per_second}});
    if (!row->used) {
      raw = pods_per_second;
      return true;
    }
    std::cout << fmt::format("{:>44} {:.2f} of that limit\n", "", pods_per_second / raw);
    rows.back()["ratio_to_raw"] = pods_per_second / raw;
    rows.back()["cpu_ms_per_pod"] = row->used->cpu_seconds / row->pods * 1e3;
    rows.back()["rss_mb"] = row->used->resident_mb;
    return true;
  };
  // The server's first seconds are its own: it builds what it knows of each kind when that is first
  // asked for.
  if (!MeasureOperator(*world, process, counter, 1, 10) ||
      !note(MeasureRaw(*world, counter, "t1", 4, 200)) ||
      !note(MeasureRaw(*world, counter, "t1", 16, 200)) ||
      !note(MeasureOperator(*world, process, counter, 1, 100)) ||
      !note(MeasureOperator(*world, process, counter, 50, 10))) {
    std::cerr << "not all pods came in time; the operator's log:\n" << process.Log();
    return 1;
  }
  return WriteRows(rows, JsonPathFromEnvironment());
}

}  // namespace
}  // namespace paceline::bench

int main() { return paceline::bench::Run(); }
