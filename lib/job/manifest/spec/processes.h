// Defines the processes of a job, where they keep files, and what each may ask of the cluster.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/job/manifest/enums.h"
#include "lib/job/manifest/node.h"
#include "lib/job/manifest/values/metric.h"

namespace paceline::job {

// A pod template as Kubernetes knows it, opaque to us.
using PodTemplate = std::optional<Node>;

struct ParameterServer {
  int64_t shards = 1;
  PodTemplate pod_template;
  friend bool operator==(const ParameterServer&, const ParameterServer&) = default;
};

struct StragglerPolicy {
  double slowdown_percent = 200;  // Of the median worker's time for a sample.
  double for_seconds = 120;
  StragglerAction action = StragglerAction::kReport;
  double hang_factor = 10;          // Times a step's expected duration, without progress.
  double first_step_seconds = 900;  // Of a worker's first step, of which nothing is expected.
  double user_code_seconds = 1800;  // Of what a script does between its steps.
  friend bool operator==(const StragglerPolicy&, const StragglerPolicy&) = default;
};

// Workers of one kind, of several; a job of one kind says the same in Workers itself.
struct WorkerGroup {
  std::string name;
  int64_t replicas = 1;
  int64_t min_replicas = 1;             // Needed to start; of fewer replicas, all of them.
  std::optional<int64_t> max_replicas;  // Defaulted to `replicas`.
  PodTemplate pod_template;
  Device device = Device::kAuto;
  std::optional<int64_t> threads;
  friend bool operator==(const WorkerGroup&, const WorkerGroup&) = default;
};

// lib/job/worker_groups.h sees the two forms alike.
struct Workers {
  int64_t replicas = 1;
  int64_t min_replicas = 1;             // Needed to start.
  std::optional<int64_t> max_replicas;  // Defaulted to `replicas`.
  PodTemplate pod_template;
  Device device = Device::kAuto;    // device.h says what it comes to.
  std::optional<int64_t> threads;   // Of one worker's kernels; absent: what its container may use.
  std::vector<WorkerGroup> groups;  // Not empty: all above is as by default and means nothing.
  // What a worker runs in the place of paceline-worker, and in which folder; empty: that.
  std::vector<std::string> command;
  std::optional<std::string> working_dir;
  StragglerPolicy straggler_policy;
  friend bool operator==(const Workers&, const Workers&) = default;
};

struct Evaluator {
  double period_seconds = 10;
  std::string metric{kLossMetric};  // What makes one version better than another.
  std::optional<Better> better;     // BetterOf(metric, better).
  double min_delta = 0;             // How much better counts as better.
  PodTemplate pod_template;
  friend bool operator==(const Evaluator&, const Evaluator&) = default;
};

struct Claim {
  std::string claim_name;
  bool read_only = false;
  friend bool operator==(const Claim&, const Claim&) = default;
};

struct HostPath {
  std::string path;
  std::optional<std::string> type;
  friend bool operator==(const HostPath&, const HostPath&) = default;
};

// A Kubernetes volume source, of any kind. Exactly one is there in a valid job.
struct Volume {
  std::optional<Claim> persistent_volume_claim;
  std::optional<HostPath> host_path;
  std::optional<Node> empty_dir;
  std::map<std::string, Node> others;  // Sources that Paceline need not understand, by field.
  friend bool operator==(const Volume&, const Volume&) = default;
};

// Names and meanings are a StatefulSet's.
struct ClaimRetention {
  ClaimFate when_deleted = ClaimFate::kRetain;
  ClaimFate when_scaled = ClaimFate::kRetain;
  friend bool operator==(const ClaimRetention&, const ClaimRetention&) = default;
};

struct Checkpoint {
  bool enabled = true;
  double period_seconds = 300;
  int64_t keep = 3;
  std::optional<Volume> volume;
  std::optional<Node> volume_claim_template;      // One claim for each shard; opaque to us.
  std::optional<ClaimRetention> claim_retention;  // Of those claims; absent: its defaults.
  CheckpointResume resume = CheckpointResume::kOwn;
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

struct Output {
  KeptModel keep = KeptModel::kLast;
  std::optional<Volume> volume;
  friend bool operator==(const Output&, const Output&) = default;
};

struct Network {
  double transfer_idle_seconds = 60;  // Without a byte; a transfer that moves has no deadline.
  Transport transport = Transport::kAuto;
  NumberType gradient_type = NumberType::kFloat32;
  NumberType parameter_type = NumberType::kFloat32;
  int64_t bucket_bytes = 4 << 20;
  friend bool operator==(const Network&, const Network&) = default;
};

struct Security {
  Toggle mtls = Toggle::kEnabled;
  friend bool operator==(const Security&, const Security&) = default;
};

}  // namespace paceline::job
