// Defines TrainingJob: a whole manifest as plain values.
//
// Member initialisers are the manifest's defaults; std::optional is used where absence means
// something else than any value. What depends on other fields is filled in by ApplyDefaults
// (defaults.h).
//
// Example:
//   const LoadedJob loaded = LoadJob(text, overrides, capabilities);   // load.h
//   if (loaded.errors.empty()) Run(loaded.job.spec.training.global_batch_size);
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/time.h"
#include "lib/job/manifest/spec/data.h"
#include "lib/job/manifest/spec/observability.h"
#include "lib/job/manifest/spec/processes.h"
#include "lib/job/manifest/spec/run_policy.h"
#include "lib/job/manifest/spec/sync.h"
#include "lib/job/manifest/spec/training.h"
#include "lib/job/state/status.h"

namespace paceline::job {

inline constexpr std::string_view kApiVersion = "paceline.dev/v1alpha1";
inline constexpr std::string_view kKind = "TrainingJob";

struct Metadata {
  std::string name;
  std::string name_space = "default";
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::optional<std::string> uid;
  std::optional<std::string> resource_version;
  int64_t generation = 0;
  std::optional<Time> creation_timestamp;
  std::optional<Time> deletion_timestamp;
  friend bool operator==(const Metadata&, const Metadata&) = default;
};

struct JobSpec {
  Model model;
  Data data;
  Training training;
  Sync sync;
  ParameterServer parameter_server;
  Workers workers;
  std::optional<Evaluator> evaluator;  // Defaulted if there is something to evaluate.
  std::optional<Checkpoint> checkpoint;
  Output output;
  Network network;
  Observability observability;
  Security security;
  RunPolicy run_policy;
  Chaos chaos;
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

struct TrainingJob {
  Metadata metadata;
  JobSpec spec;
  JobStatus status;
  friend bool operator==(const TrainingJob&, const TrainingJob&) = default;
};

}  // namespace paceline::job
