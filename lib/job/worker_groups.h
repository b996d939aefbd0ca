// Defines WorkerGroups: the kinds of workers that a job has, seen alike whether its manifest lists
// them or is the short form of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/job/manifest/spec/processes.h"

namespace paceline::job {

// One of spec.workers.groups; or spec.workers itself, where it lists none. Points into it.
struct GroupView {
  std::string_view name;  // Empty: the job has no groups.
  int64_t replicas = 0;
  int64_t needed = 0;  // To start; no more than replicas.
  int64_t most = 0;    // That replicas may be raised to.
  const PodTemplate* pod_template = nullptr;
  Device device = Device::kAuto;
  std::optional<int64_t> threads;
  std::string path;  // "spec.workers", "spec.workers.groups[1]".
};

// In the manifest's order; at least one.
std::vector<GroupView> GroupsOf(const Workers& workers);
// Nothing if there is none of that name any more; "" is that of a job without groups.
std::optional<GroupView> FindGroup(const Workers& workers, std::string_view name);

// Of all groups together. Far from overflow, whatever numbers a manifest has.
int64_t ReplicasOf(const Workers& workers);
int64_t NeededOf(const Workers& workers);  // At least 1.
int64_t MostOf(const Workers& workers);

}  // namespace paceline::job
