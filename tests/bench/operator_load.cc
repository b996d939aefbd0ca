#include "tests/bench/operator_load.h"

#include <iostream>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/testing/eventually.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/core/owner_reference.h"
#include "tests/operator/writes.h"

namespace paceline::bench {
namespace {

using kube::Json;
using operator_test::Writes;

constexpr double kQuietSeconds = 300;

bool AllDone(kube::Client& client, std::vector<kube::Request> requests) {
  for (const StatusOr<Json>& answer : client.CallAll(std::move(requests))) {
    if (answer.ok()) continue;
    std::cerr << Message(answer.status()) << "\n";
    return false;
  }
  return true;
}

// Kinds of what may stand around a job's pods.
std::vector<kube::Resource> Surroundings() {
  return {kube::Services(), kube::ConfigMaps(), kube::Secrets(), kube::NetworkPolicies(),
          kube::PodDisruptionBudgets()};
}

// What nobody has changed since it was made, and no operator looks after. Its owners stay: a
// reference costs the server as much in a copy, and nobody collects garbage here.
Json Copied(Json object) {
  const Json metadata = object["metadata"];
  object.erase("status");
  if (object.contains("spec") && object["spec"].is_object()) object["spec"].erase("nodeName");
  Json labels = metadata.value("labels", Json::object());
  labels["app.kubernetes.io/managed-by"] = "bench";
  object["metadata"] = {{"name", metadata["name"]},
                        {"labels", labels},
                        {"annotations", metadata.value("annotations", Json::object())},
                        {"ownerReferences", metadata.value("ownerReferences", Json::array())}};
  return object;
}

}  // namespace

Load::Load(operator_test::World& world, FakeNodes* nodes)
    : world_(world),
      nodes_(nodes),
      pods_(world.client(), ""),
      running_(world.client(), "status.phase=Running") {}

double Load::CpuOfAll(const Contender& contender) const {
  std::vector<pid_t> processes = world_.server().processes();
  processes.insert(processes.end(), {getpid(), contender.pid()});
  double seconds = 0;
  for (const pid_t process : processes) seconds += UsageOf(process).cpu_seconds;
  return seconds;
}

std::optional<Creation> Load::Creating(const Contender& contender, int pods,
                                       const std::function<bool()>& start) {
  if (nodes_ != nullptr) nodes_->Hold();
  const int added = pods_.added();
  const double cpu_before = CpuOfAll(contender);
  const auto since = Clock::now();
  std::optional<double> seconds;
  if (start()) seconds = pods_.SecondsUntilAdded(added + pods, since);
  const double cpu_seconds = CpuOfAll(contender) - cpu_before;
  if (nodes_ != nullptr) nodes_->Release();
  if (!seconds) return std::nullopt;
  return Creation{.seconds = *seconds, .cpu_seconds = cpu_seconds};
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
  const auto creation = Creating(contender, measured.pods, [&] {
    return CreateJobs(contender, name_space, jobs, {.workers = workers});
  });
  if (!creation) return std::nullopt;
  measured.creation = *creation;
  if (nodes_ != nullptr && !running_.SecondsUntilAdded(ran + measured.pods, Clock::now()))
    return std::nullopt;
  const ProcessUsage after = UsageOf(contender.pid());
  measured.cpu_seconds = after.cpu_seconds - before.cpu_seconds;
  measured.resident_mb = after.resident_mb;
  measured.writes = writes.Since(line).size();
  if (!KeepCopies(contender, name_space)) return std::nullopt;
  const kube::Resource resource = contender.resource();
  if (!CleanUp(name_space, &resource)) return std::nullopt;
  return measured;
}

std::optional<Measured> Load::RawPods(const Contender& contender, int pods, int connections) {
  const std::string name_space = world_.NewNamespace();
  Json pod = copies_.back().object;
  pod["metadata"]["namespace"] = name_space;
  std::vector<kube::Request> requests;
  for (int i = 0; i < pods; ++i) {
    pod["metadata"]["name"] = fmt::format("raw-{}", i);
    requests.push_back(kube::Create(kube::Pods(), pod, {.answer = kube::Answer::kNothing}));
  }
  const auto client =
      kube::Client::Create(world_.client().config(), {.calls_in_flight_max = connections});
  if (!client.ok()) return std::nullopt;
  const auto creation =
      Creating(contender, pods, [&] { return AllDone(**client, std::move(requests)); });
  if (!creation || !CleanUp(name_space, nullptr)) return std::nullopt;
  return Measured{.pods = pods, .creation = *creation};
}

std::optional<Measured> Load::RawObjects(const Contender& contender, int connections) {
  const std::string name_space = world_.NewNamespace();
  std::vector<kube::Request> requests;
  int pods = 0;
  for (const Copy& copy : copies_) {
    Json object = copy.object;
    object["metadata"]["namespace"] = name_space;
    if (copy.resource.plural == kube::Pods().plural) ++pods;
    requests.push_back(kube::Create(copy.resource, object, {.answer = kube::Answer::kNothing}));
  }
  const auto client =
      kube::Client::Create(world_.client().config(), {.calls_in_flight_max = connections});
  if (!client.ok()) return std::nullopt;
  const auto creation =
      Creating(contender, pods, [&] { return AllDone(**client, std::move(requests)); });
  const kube::Resource resource = contender.resource();
  if (!creation || !CleanUp(name_space, &resource)) return std::nullopt;
  return Measured{.pods = pods, .creation = *creation};
}

bool Load::KeepCopies(const Contender& contender, const std::string& name_space) {
  std::vector<kube::Resource> resources = Surroundings();
  resources.insert(resources.begin(), contender.resource());
  resources.push_back(kube::Pods());
  copies_.clear();
  for (const kube::Resource& resource : resources) {
    auto listed = world_.client().ListAll(resource, {.name_space = name_space});
    if (!listed.ok()) return false;
    const bool is_job = resource.plural == contender.resource().plural;
    for (Json& item : listed->items) {
      if (!is_job && !kube::ControllerOf(item)) continue;  // The namespace's own.
      Json copy = Copied(std::move(item));
      if (is_job) copy = contender.LeftAlone(std::move(copy));
      if (!copy.is_null()) copies_.push_back({resource, std::move(copy)});
    }
  }
  return !copies_.empty() && copies_.back().resource.plural == kube::Pods().plural;
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
  // sleeps: what is measured is what goes on meanwhile
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const ProcessUsage after = UsageOf(contender.pid());
  return AtRest{.resident_mb = after.resident_mb,
                .cpu_seconds = after.cpu_seconds - before.cpu_seconds,
                .writes = writes.Since(line).size()};
}

// No controller collects garbage here. Jobs first, or their operator would make all of it anew.
bool Load::CleanUp(const std::string& name_space, const kube::Resource* jobs) {
  std::vector<kube::Resource> resources = Surroundings();
  resources.insert(resources.begin(), kube::Pods());
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
  std::optional<size_t> before;
  return testing::Eventually(
      [&] {
        const size_t lines = log.LinesSoFar();
        const bool is_calm = before && lines - *before < kLinesPerSecond;
        before = lines;
        return is_calm;
      },
      kQuietSeconds, std::chrono::seconds(1));
}

}  // namespace paceline::bench
