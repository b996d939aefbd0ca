// Defines when a job stops, restarts and goes away, and the delays that experiments inject.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/job/manifest/enums.h"
#include "lib/job/manifest/node.h"

namespace paceline::job {

struct SchedulingPolicy {
  std::optional<int64_t> min_available;
  std::optional<std::string> queue;
  std::optional<std::string> priority_class;
  std::optional<std::string> scheduler_name;
  std::optional<Node> min_resources;      // Quantities by resource; the PodGroup's to judge.
  int64_t schedule_timeout_seconds = 60;  // Then minReplicas workers are enough to start.
  friend bool operator==(const SchedulingPolicy&, const SchedulingPolicy&) = default;
};

// Whether pods are to be placed together or not at all.
inline bool AsksForGang(const SchedulingPolicy& policy) {
  return policy.min_available || policy.queue || policy.min_resources;
}

// Exit codes that the shell knows: 128 and the number of the signal that ended a process.
struct ExitCodePattern {
  ExitCodeOperator op = ExitCodeOperator::kIn;
  std::vector<int64_t> values;
  friend bool operator==(const ExitCodePattern&, const ExitCodePattern&) = default;
};

struct PodConditionPattern {
  std::string type;
  ConditionStatus status = ConditionStatus::kTrue;
  friend bool operator==(const PodConditionPattern&, const PodConditionPattern&) = default;
};

// Has one of the two; of conditions, one that holds is enough.
struct FailureRule {
  FailureAction action = FailureAction::kCount;
  std::optional<ExitCodePattern> on_exit_codes;
  std::vector<PodConditionPattern> on_pod_conditions;
  friend bool operator==(const FailureRule&, const FailureRule&) = default;
};

// Names and meanings are those of a Job's podFailurePolicy. The first rule that matches decides.
struct FailurePolicy {
  std::vector<FailureRule> rules;
  friend bool operator==(const FailurePolicy&, const FailurePolicy&) = default;
};

// Names and meanings are Kubeflow's, where Kubeflow has them.
struct RunPolicy {
  bool suspend = false;
  std::optional<int64_t> active_deadline_seconds;
  int64_t backoff_limit = 6;
  std::optional<FailurePolicy> failure_policy;
  std::optional<int64_t> ttl_seconds_after_finished;
  CleanPodPolicy clean_pod_policy = CleanPodPolicy::kRunning;
  int64_t node_lost_seconds = 30;
  std::string managed_by = "paceline.dev/operator";
  SchedulingPolicy scheduling_policy;
  friend bool operator==(const RunPolicy&, const RunPolicy&) = default;
};

// A delay in the compute phase of some workers. How several act together: lib/chaos/delays.h.
struct Delay {
  DelayKind kind = DelayKind::kConstant;
  std::optional<std::string> group;          // That it is for; absent: all.
  std::vector<int64_t> workers;              // Indices; empty: all.
  std::optional<double> seconds;             // Constant: added to each step.
  std::vector<double> per_worker;            // PerWorker: seconds added, by index.
  std::optional<double> seconds_per_sample;  // PerSample: added for each sample of a step.
  std::optional<double> scale;               // ShiftedExponential: mean of a step, seconds.
  std::optional<double> alpha;               // ShiftedExponential: share that is random.
  std::optional<double> ratio;               // Ratio: capacity left, (0, 1].
  std::optional<int64_t> at_step;            // StepChange: first slow step.
  std::optional<double> factor;              // StepChange: slowdown.
  std::optional<double> fraction;            // StepChange: share of the workers that slow down.
  std::optional<std::string> trace;          // Trace: a CSV file of seconds, one row a step.
  friend bool operator==(const Delay&, const Delay&) = default;
};

struct LinkLimit {
  std::optional<std::string> group;  // That it is for; absent: all.
  std::vector<int64_t> workers;      // Indices; empty: all.
  int64_t bytes_per_second = 0;
  double latency_seconds = 0;  // Of each push and each pull.
  friend bool operator==(const LinkLimit&, const LinkLimit&) = default;
};

struct Chaos {
  bool enabled = false;
  int64_t seed = 0;
  std::vector<Delay> delays;
  std::vector<LinkLimit> links;
  friend bool operator==(const Chaos&, const Chaos&) = default;
};

}  // namespace paceline::job
