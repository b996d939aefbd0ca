#include "simulator/scenario/scenario.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "lib/job/manifest/yaml.h"
#include "lib/job/policy_spec.h"
#include "simulator/scenario/absences.h"
#include "simulator/scenario/as_job.h"
#include "simulator/scenario/fields.h"
#include "simulator/scenario/learning.h"

namespace paceline::simulator {
namespace {

using job::FieldError;
using job::Node;
using Errors = std::vector<FieldError>;

constexpr double kWorkersMax = 100'000;
constexpr double kSecondsMax = 1e9;
constexpr double kNumberMax = 1e15;  // Keeps sums and products finite.

const Bounds kSeconds{.min = 0, .max = kSecondsMax};
const Bounds kPositive{.above = 0, .max = kNumberMax};
const Bounds kNotNegative{.min = 0, .max = kNumberMax};

// --- Distributions: {kind: Gamma, mean: 1, shape: 4}.

template <class Kind>
void ReadParts(Fields&, Kind&) = delete;
void ReadParts(Fields& fields, Constant& d) { fields.Take("value", d.value); }
void ReadParts(Fields& fields, Uniform& d) {
  fields.Take("low", d.low);
  fields.Take("high", d.high);
}
void ReadParts(Fields& fields, Exponential& d) { fields.Take("mean", d.mean); }
void ReadParts(Fields& fields, ShiftedExponential& d) {
  fields.Take("shift", d.shift);
  fields.Take("mean", d.mean);
}
void ReadParts(Fields& fields, Lognormal& d) {
  fields.Take("mean", d.mean);
  fields.Take("sigma", d.sigma);
}
void ReadParts(Fields& fields, Pareto& d) {
  fields.Take("least", d.least);
  fields.Take("shape", d.shape);
}
void ReadParts(Fields& fields, Gamma& d) {
  fields.Take("mean", d.mean);
  fields.Take("shape", d.shape);
}
void ReadParts(Fields& fields, Empirical& d) {
  const Node* const values = fields.Take("values");
  if (values == nullptr) return;
  if (values->kind != Node::Kind::kList) return fields.Fail("values", "must be a list of numbers");
  for (const Node& value : values->elements) {
    if (value.kind != Node::Kind::kInteger && value.kind != Node::Kind::kFloat)
      return fields.Fail("values", "must be a list of numbers: got " + Describe(value));
    d.values.push_back(value.kind == Node::Kind::kInteger ? static_cast<double>(value.integer)
                                                          : value.number);
  }
}

std::optional<Distribution> OfKind(std::string_view kind) {
  if (kind == "Constant") return Constant{};
  if (kind == "Uniform") return Uniform{};
  if (kind == "Exponential") return Exponential{};
  if (kind == "ShiftedExponential") return ShiftedExponential{};
  if (kind == "Lognormal") return Lognormal{};
  if (kind == "Pareto") return Pareto{};
  if (kind == "Gamma") return Gamma{};
  if (kind == "Empirical") return Empirical{};
  return std::nullopt;
}

void ReadDistribution(const Node& node, const std::string& path, Distribution& into,
                      Errors& errors) {
  Fields fields(node, path, errors);
  if (node.kind != Node::Kind::kMap) return;
  std::string kind;
  fields.Require("kind");
  fields.Take("kind", kind);
  std::optional<Distribution> found = OfKind(kind);
  if (!found) {
    if (!kind.empty()) {
      fields.Fail(
          "kind",
          fmt::format(
              "must be Constant, Uniform, Exponential, ShiftedExponential, Lognormal, Pareto, "
              "Gamma or Empirical: got \"{}\"",
              kind));
    }
    return;
  }
  std::visit([&fields](auto& d) { ReadParts(fields, d); }, *found);
  fields.Done();
  const Status status = Validate(*found);
  if (!status.ok()) return fields.Fail("", Message(status));
  into = *std::move(found);
}

// --- The cluster.

void ReadCompute(const Node& node, const std::string& path, ComputeModel& model, Errors& errors) {
  Fields fields(node, path, errors);
  fields.Take("fixedSeconds", model.fixed_seconds, kSeconds);
  fields.Take("perSampleSeconds", model.per_sample_seconds, kSeconds);
  fields.Take("leastSamples", model.least_samples, {.min = 0, .max = 1e9});
  if (const Node* const jitter = fields.Take("jitter"))
    ReadDistribution(*jitter, fields.PathOf("jitter"), model.jitter, errors);
  if (const Node* const spikes = fields.Take("spikes")) {
    Fields inner(*spikes, fields.PathOf("spikes"), errors);
    inner.Require("probability");
    inner.Take("probability", model.spike_probability, {.min = 0, .max = 1});
    inner.Take("factor", model.spike_factor, kPositive);
    inner.Done();
  }
  if (const Node* const phases = fields.Take("slowPhases")) {
    SlowPhases found;
    Fields inner(*phases, fields.PathOf("slowPhases"), errors);
    inner.Take("factor", found.factor, kPositive);
    inner.Take("fastSeconds", found.fast_seconds, {.above = 0, .max = kSecondsMax});
    inner.Take("slowSeconds", found.slow_seconds, {.above = 0, .max = kSecondsMax});
    inner.Done();
    model.slow_phases = found;
  }
  if (const Node* const changes = fields.Take("changes")) {
    model.changes.clear();
    if (changes->kind != Node::Kind::kList)
      fields.Fail("changes", "must be a list: got " + Describe(*changes));
    for (size_t i = 0; i < changes->elements.size(); ++i) {
      SpeedChange change;
      Fields inner(changes->elements[i], fmt::format("{}[{}]", fields.PathOf("changes"), i),
                   errors);
      inner.Require("atSeconds");
      inner.Take("atSeconds", change.at_seconds, kSeconds);
      inner.Take("factor", change.factor, kPositive);
      if (const Node* const jitter = inner.Take("jitter"))
        ReadDistribution(*jitter, inner.PathOf("jitter"), change.jitter.emplace(model.jitter),
                         errors);
      inner.Done();
      if (!model.changes.empty() && change.at_seconds < model.changes.back().at_seconds)
        inner.Fail("atSeconds", "must not be before the change above it");
      model.changes.push_back(change);
    }
  }
  fields.Done();
}

void ReadWorkers(const Node& node, const std::string& path, const ComputeModel& shared,
                 ClusterOptions& cluster, Errors& errors) {
  std::vector<ComputeModel>& workers = cluster.workers;
  if (node.kind != Node::Kind::kList || node.elements.empty()) {
    errors.push_back(
        {path, "must be a list of at least one kind of worker: got " + Describe(node), node.line});
    return;
  }
  for (size_t i = 0; i < node.elements.size(); ++i) {
    ComputeModel model = shared;
    uint32_t count = 1;
    Fields fields(node.elements[i], fmt::format("{}[{}]", path, i), errors);
    fields.Take("count", count, {.min = 1, .max = kWorkersMax});
    fields.Take("speed", model.speed, kPositive);
    if (const Node* const compute = fields.Take("compute"))
      ReadCompute(*compute, fields.PathOf("compute"), model, errors);
    if (workers.size() + count > kWorkersMax) {
      fields.Fail("count", fmt::format("makes more than {} workers", kWorkersMax));
      count = 0;
    }
    TakeAbsences(fields, static_cast<uint32_t>(workers.size()), count, cluster);
    fields.Done();
    workers.insert(workers.end(), count, model);
  }
}

// spec.chaos as a TrainingJob has it. Its traces are read by whoever simulates.
void ReadChaos(const Node& node, const std::string& path, Scenario& scenario, Errors& errors) {
  ClusterOptions& cluster = scenario.cluster;
  const auto workers = std::max<uint32_t>(static_cast<uint32_t>(cluster.workers.size()), 1);
  cluster.injected =
      ReadAsJob("chaos", node, path, {.workers = workers, .global_batch_size = workers}, errors)
          .spec.chaos;
  for (size_t i = 0; i < cluster.injected.delays.size(); ++i) {
    const std::string& trace = cluster.injected.delays[i].trace.value_or("");
    scenario.traces.push_back({trace, node.line});
  }
  if (!cluster.injected.links.empty() && cluster.network.bytes == 0) {
    errors.push_back(
        {path + ".links", "needs network.bytes, which would travel on them: got none", node.line});
  }
}

void ReadCluster(const Node& node, const std::string& path, Scenario& scenario, Errors& errors) {
  ClusterOptions& cluster = scenario.cluster;
  Fields fields(node, path, errors);
  ComputeModel shared;
  if (const Node* const compute = fields.Take("compute"))
    ReadCompute(*compute, fields.PathOf("compute"), shared, errors);
  fields.Require("workers");
  if (const Node* const workers = fields.Take("workers"))
    ReadWorkers(*workers, fields.PathOf("workers"), shared, cluster, errors);
  if (!cluster.workers.empty() && !IsAnybodyLeft(cluster))
    fields.Fail("workers", "must keep somebody: all crash and none returns");
  if (const Node* const network = fields.Take("network")) {
    Fields inner(*network, fields.PathOf("network"), errors);
    inner.Take("latencySeconds", cluster.network.latency_seconds, kSeconds);
    inner.Take("serverBytesPerSecond", cluster.network.server_bytes_per_second, kNotNegative);
    inner.Take("workerBytesPerSecond", cluster.network.worker_bytes_per_second, kNotNegative);
    inner.Take("bytes", cluster.network.bytes, kNotNegative);
    cluster.network.push_bytes = cluster.network.bytes;
    inner.Take("pushBytes", *cluster.network.push_bytes, kNotNegative);
    inner.Done();
  }
  if (const Node* const chaos = fields.Take("chaos"))
    ReadChaos(*chaos, fields.PathOf("chaos"), scenario, errors);
  fields.Take("interruptSeconds", cluster.interrupt_seconds, kSeconds);
  fields.Take("commitSeconds", cluster.commit_seconds, kSeconds);
  fields.Take("silentAfterSeconds", cluster.silent_seconds, {.above = 0, .max = kSecondsMax});
  fields.Done();
}

// --- Arms.

// Of the job that an arm is, what schemes look at beside their own fields.
struct Training {
  JobAround job;
  double rate = 0.1;  // Where the arm has none of its own.
};

void ReadArms(const Node& node, const std::string& path, const Training& training,
              Scenario& scenario, Errors& errors) {
  if (node.kind != Node::Kind::kList || node.elements.empty()) {
    errors.push_back(
        {path, "must be a list of at least one arm: got " + Describe(node), node.line});
    return;
  }
  std::set<std::string> names;
  for (size_t i = 0; i < node.elements.size(); ++i) {
    Arm arm{.learning_rate = training.rate};
    Fields fields(node.elements[i], fmt::format("{}[{}]", path, i), errors);
    fields.Require("name");
    fields.Take("name", arm.name);
    fields.Take("learningRate", arm.learning_rate, kPositive);
    fields.Require("sync");
    if (const Node* const sync = fields.Take("sync"))
      arm.policy = job::PolicySpecFrom(
          ReadAsJob("sync", *sync, fields.PathOf("sync"), training.job, errors));
    fields.Done();
    if (!arm.name.empty() && !names.insert(arm.name).second)
      fields.Fail("name", fmt::format("must be of one arm alone: got \"{}\" again", arm.name));
    scenario.arms.push_back(std::move(arm));
  }
}

void ReadSpec(const Node& node, Scenario& scenario, Errors& errors) {
  ClusterOptions& cluster = scenario.cluster;
  Fields fields(node, "spec", errors);
  fields.Take("seeds", scenario.seeds, {.min = 1, .max = 10'000});
  fields.Take("firstSeed", scenario.first_seed, {.min = 0, .max = 1e9});
  uint32_t global_batch_size = 0;
  double rate = 0.1;
  fields.Require("training");
  if (const Node* const training = fields.Take("training")) {
    Fields inner(*training, "spec.training", errors);
    inner.Require("globalBatchSize");
    inner.Take("globalBatchSize", global_batch_size, {.min = 1, .max = 1e9});
    inner.Take("learningRate", rate, kPositive);
    inner.Take("momentum", cluster.momentum, {.min = 0, .below = 1});
    if (const Node* const schedule = inner.Take("learningRateSchedule")) {
      Fields parts(*schedule, inner.PathOf("learningRateSchedule"), errors);
      ReadSchedule(parts, std::max(global_batch_size, 1u), cluster.schedule);
    }
    inner.Done();
  }
  if (const Node* const objective = fields.Take("objective")) {
    Fields inner(*objective, "spec.objective", errors);
    ReadObjective(inner, scenario);
  }
  fields.Require("cluster");
  if (const Node* const found = fields.Take("cluster"))
    ReadCluster(*found, "spec.cluster", scenario, errors);
  fields.Require("stop");
  if (const Node* const stop = fields.Take("stop")) {
    Fields inner(*stop, "spec.stop", errors);
    inner.Take("loss", cluster.target_loss, kPositive);
    inner.Take("steps", cluster.steps_max, {.min = 1, .max = 1e9});
    inner.Take("seconds", cluster.seconds_max, {.above = 0, .max = kSecondsMax});
    inner.Done();
    if (cluster.steps_max == 0 && cluster.seconds_max == 0 && stop->kind == Node::Kind::kMap)
      inner.Fail("", "must have steps or seconds: a loss that is never reached would never end");
  }
  fields.Require("arms");
  if (const Node* const arms = fields.Take("arms")) {
    ReadArms(*arms, "spec.arms",
             {.job = {.workers = static_cast<uint32_t>(cluster.workers.size()),
                      .global_batch_size = std::max(global_batch_size, 1u),
                      .momentum = cluster.momentum},
              .rate = rate},
             scenario, errors);
  }
  fields.Done();
  const auto workers = static_cast<uint32_t>(cluster.workers.size());
  if (global_batch_size > 0 && global_batch_size < workers) {
    fields.Fail("training",
                fmt::format("globalBatchSize must be at least the number of workers, {}: got {}",
                            workers, global_batch_size));
  }
}

}  // namespace

LoadedScenario LoadScenario(std::string_view text) {
  job::Parsed parsed = job::ParseYaml(text);
  LoadedScenario loaded;
  if (!parsed.errors.empty()) return {{}, std::move(parsed.errors)};
  Fields fields(parsed.root, "", loaded.errors);
  if (parsed.root.kind != Node::Kind::kMap) return loaded;
  std::string version, kind;
  fields.Take("apiVersion", version);
  if (version != "paceline.dev/v1alpha1")
    fields.Fail("apiVersion", fmt::format("must be paceline.dev/v1alpha1: got \"{}\"", version));
  fields.Take("kind", kind);
  if (kind != "Scenario") fields.Fail("kind", fmt::format("must be Scenario: got \"{}\"", kind));
  if (const Node* const metadata = fields.Take("metadata")) {
    Fields inner(*metadata, "metadata", loaded.errors);
    inner.Take("name", loaded.scenario.name);
    inner.Done();
  }
  fields.Require("spec");
  if (const Node* const spec = fields.Take("spec")) ReadSpec(*spec, loaded.scenario, loaded.errors);
  fields.Done();
  std::ranges::stable_sort(loaded.errors, {}, &FieldError::line);
  return loaded;
}

ClusterOptions OptionsOf(const Scenario& scenario, const Arm& arm, uint64_t seed) {
  ClusterOptions options = scenario.cluster;
  options.policy = arm.policy;
  options.learning_rate = arm.learning_rate;
  options.seed = seed;
  // Of the first life it is the delays' own.
  options.injected.seed += static_cast<int64_t>(seed - scenario.first_seed);
  return options;
}

}  // namespace paceline::simulator
