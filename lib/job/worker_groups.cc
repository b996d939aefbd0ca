#include "lib/job/worker_groups.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::job {
namespace {

// Beyond all that is valid; as many of those as a list may hold are far from overflow.
constexpr int64_t kFar = 1'000'000'000'000;

int64_t Bounded(int64_t count) { return std::clamp<int64_t>(count, 0, kFar); }

template <class Part>
int64_t Sum(const Workers& workers, Part part) {
  int64_t sum = 0;
  for (const GroupView& group : GroupsOf(workers)) sum += Bounded(part(group));
  return sum;
}

}  // namespace

std::vector<GroupView> GroupsOf(const Workers& workers) {
  if (workers.groups.empty()) {
    return {{.name = "",
             .replicas = workers.replicas,
             .needed = workers.min_replicas,
             .most = workers.max_replicas.value_or(workers.replicas),
             .pod_template = &workers.pod_template,
             .device = workers.device,
             .threads = workers.threads,
             .path = "spec.workers"}};
  }
  std::vector<GroupView> views;
  views.reserve(workers.groups.size());
  for (const WorkerGroup& group : workers.groups) {
    views.push_back({.name = group.name,
                     .replicas = group.replicas,
                     .needed = std::min(group.min_replicas, group.replicas),
                     .most = group.max_replicas.value_or(group.replicas),
                     .pod_template = &group.pod_template,
                     .device = group.device,
                     .threads = group.threads,
                     .path = fmt::format("spec.workers.groups[{}]", views.size())});
  }
  return views;
}

std::optional<GroupView> FindGroup(const Workers& workers, std::string_view name) {
  for (GroupView& group : GroupsOf(workers)) {
    if (group.name == name) return std::move(group);
  }
  return std::nullopt;
}

int64_t ReplicasOf(const Workers& workers) {
  return Sum(workers, [](const GroupView& g) { return g.replicas; });
}

int64_t NeededOf(const Workers& workers) {
  return std::max<int64_t>(1, Sum(workers, [](const GroupView& g) { return g.needed; }));
}

int64_t MostOf(const Workers& workers) {
  return Sum(workers, [](const GroupView& g) { return std::max(g.most, g.replicas); });
}

}  // namespace paceline::job
