#include "tests/bench/operator_load.h"

#include <thread>

#include <fmt/format.h>

#include "lib/kube/core/metadata.h"
#include "tests/operator/writes.h"
#include "tests/support/eventually.h"

namespace paceline::bench {
namespace {

using kube::Json;
using operator_test::Writes;

constexpr double kQuietSeconds = 300;

bool AllDone(kube::Client& client, std::vector<kube::Request> requests) {
  for (const StatusOr<Json>& answer : client.CallAll(std::move(requests))) {
    if (!answer.ok()) return false;
  }
  return true;
}

// What nobody has changed since it was made, and no operator looks after.
Json Copied(const Json& pod, const std::string& name_space) {
  Json copy = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"spec", pod["spec"]}};
  copy["spec"].erase("nodeName");
  Json labels = pod["metadata"].value("labels", Json::object());
  labels["app.kubernetes.io/managed-by"] = "bench";
  copy["metadata"] = {{"namespace", name_space},
                      {"labels", labels},
                      {"annotations", pod["metadata"].value("annotations", Json::object())}};
  return copy;
}

}  // namespace

Load::Load(operator_test::World& world, FakeNodes* nodes)
    : world_(world),
      nodes_(nodes),
      pods_(world.client(), ""),
      running_(world.client(), "status.phase=Running") {}

std::optional<double> Load::Creating(int pods, const std::function<bool()>& start) {
  if (nodes_ != nullptr) nodes_->Hold();
  const int added = pods_.added();
  const auto since = Clock::now();
  std::optional<double> seconds;
  if (start()) seconds = pods_.SecondsUntilAdded(added + pods, since);
  if (nodes_ != nullptr) nodes_->Release();
  return seconds;
}

bool Load::CreateJobs(const Contender& contender, const std::string& name_space, int jobs,
                      const JobShape& shape) {
  std::vector<kube::Request> requests;
  for (int i = 0; i < jobs; ++i) {
    JobShape named = shape;
    named.name = fmt::format("job{}", i);
    Json manifest = contender.Manifest(named);
    manifest["metadata"]["namespace"] = name_space;
    requests.push_back(
        kube::Create(contender.resource(), manifest, {.answer = kube::Answer::kNothing}));
  }
  return AllDone(world_.client(), std::move(requests));
}

std::optional<Measured> Load::Jobs(const Contender& contender, int jobs, int workers) {
  Measured measured{.pods = jobs * (workers + kServers)};
  const std::string name_space = world_.NewNamespace();
  const Writes writes(world_.server().audit_log(), contender.user());
  const size_t line = writes.LinesSoFar();
  const int ran = running_.added();
  const ProcessUsage before = UsageOf(contender.pid());
  const auto seconds = Creating(
      measured.pods, [&] { return CreateJobs(contender, name_space, jobs, {.workers = workers}); });
  if (!seconds) return std::nullopt;
  measured.seconds = *seconds;
  if (nodes_ != nullptr && !running_.SecondsUntilAdded(ran + measured.pods, Clock::now()))
    return std::nullopt;
  const ProcessUsage after = UsageOf(contender.pid());
  measured.cpu_seconds = after.cpu_seconds - before.cpu_seconds;
  measured.resident_mb = after.resident_mb;
  measured.writes = writes.Since(line).size();
  const auto listed = world_.client().ListAll(kube::Pods(), {.name_space = name_space});
  if (!listed.ok() || listed->items.empty()) return std::nullopt;
  pod_ = listed->items.back();
  const kube::Resource resource = contender.resource();
  if (!CleanUp(name_space, &resource)) return std::nullopt;
  return measured;
}

std::optional<Measured> Load::RawPods(int pods, int connections) {
  const std::string name_space = world_.NewNamespace();
  Json pod = Copied(pod_, name_space);
  std::vector<kube::Request> requests;
  for (int i = 0; i < pods; ++i) {
    pod["metadata"]["name"] = fmt::format("raw-{}", i);
    requests.push_back(kube::Create(kube::Pods(), pod, {.answer = kube::Answer::kNothing}));
  }
  const auto client =
      kube::Client::Create(world_.client().config(), {.calls_in_flight_max = connections});
  if (!client.ok()) return std::nullopt;
  const auto seconds = Creating(pods, [&] { return AllDone(**client, std::move(requests)); });
  if (!seconds || !CleanUp(name_space, nullptr)) return std::nullopt;
  return Measured{.pods = pods, .seconds = *seconds};
}

std::optional<AtRest> Load::SuspendedJobs(const Contender& contender, int jobs, double seconds) {
  const std::string name_space = world_.NewNamespace();
  const Writes writes(world_.server().audit_log(), contender.user());
  if (!CreateJobs(contender, name_space, jobs, {.workers = 10, .is_suspended = true}) ||
      !writes.WaitForQuiet(kQuietSeconds)) {
    return std::nullopt;
  }
  return Rest(contender, seconds);
}

AtRest Load::Rest(const Contender& contender, double seconds) {
  const Writes writes(world_.server().audit_log(), contender.user());
  const size_t line = writes.LinesSoFar();
  const ProcessUsage before = UsageOf(contender.pid());
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const ProcessUsage after = UsageOf(contender.pid());
  return AtRest{.resident_mb = after.resident_mb,
                .cpu_seconds = after.cpu_seconds - before.cpu_seconds,
                .writes = writes.Since(line).size()};
}

// No controller collects garbage here. Jobs first, or their operator would make all of it anew.
bool Load::CleanUp(const std::string& name_space, const kube::Resource* jobs) {
  std::vector<kube::Resource> resources = {
      kube::Pods(),    kube::Services(),        kube::ConfigMaps(),
      kube::Secrets(), kube::NetworkPolicies(), kube::PodDisruptionBudgets()};
  if (jobs != nullptr) resources.insert(resources.begin(), *jobs);
  for (const kube::Resource& resource : resources) {
    const Status gone =
        world_.client()
            .Call(kube::DeleteCollection(resource, name_space, "", {.grace_period_seconds = 0}))
            .status();
    if (!gone.ok()) return false;
  }
  return pods_.WaitUntilNone() && WaitForCalm();
}

// Until the scheduler and the nodes have done with what is gone: nothing but leases is renewed.
bool Load::WaitForCalm() const {
  constexpr size_t kLinesPerSecond = 40;
  const Writes log(world_.server().audit_log());
  return testing::Eventually(
      [&] {
        const size_t lines = log.LinesSoFar();
        std::this_thread::sleep_for(std::chrono::seconds(1));
        return log.LinesSoFar() - lines < kLinesPerSecond;
      },
      kQuietSeconds);
}

}  // namespace paceline::bench
