#include "lib/job/worker_groups.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "lib/job/checks/checks.h"
#include "lib/job/manifest/note.h"
#include "lib/job/process_name.h"

namespace paceline::job {
namespace {

constexpr auto kWorkersMax = static_cast<int64_t>(kProcessesMax);

// What is the groups' own: beside them it would say something of none. Defaults were not said.
void CheckShortForm(const Workers& workers, Findings& findings) {
  const Workers usual;
  const auto refuse = [&](bool is_said, const char* field) {
    if (!is_said) return;
    findings.Add(fmt::format("spec.workers.{}", field),
                 fmt::format("is of a job without workers.groups: set groups[].{} of each", field),
                 {"spec.workers.groups"});
  };
  refuse(workers.replicas != usual.replicas, "replicas");
  refuse(workers.min_replicas != usual.min_replicas, "minReplicas");
  refuse(workers.max_replicas.has_value(), "maxReplicas");
  refuse(workers.pod_template.has_value(), "template");
  refuse(workers.device != usual.device, "device");
  refuse(workers.threads.has_value(), "threads");
}

void CheckGroup(const GroupView& group, const WorkerGroup& said, Findings& findings) {
  if (!IsGroupName(said.name)) {
    findings.Add(group.path + ".name",
                 fmt::format("must be lower case letters and digits, a letter first, and none of "
                             "ps, worker, evaluator and operator: got \"{}\"",
                             said.name));
  }
  if (said.replicas > 0 && said.min_replicas > said.replicas) {
    findings.Add(group.path + ".minReplicas",
                 fmt::format("must be at most the group's replicas, {}: got {}", said.replicas,
                             said.min_replicas),
                 {group.path + ".replicas"});
  }
  if (said.max_replicas && *said.max_replicas < said.replicas) {
    findings.Add(group.path + ".maxReplicas",
                 fmt::format("must be at least the group's replicas, {}: got {}", said.replicas,
                             *said.max_replicas),
                 {group.path + ".replicas"});
  }
}

}  // namespace

void CheckWorkerGroups(const TrainingJob& job, Findings& findings) {
  const Workers& workers = job.spec.workers;
  if (workers.groups.empty()) return;
  CheckShortForm(workers, findings);
  std::set<std::string_view> names;
  for (const GroupView& group : GroupsOf(workers)) {
    CheckGroup(group, workers.groups[names.size()], findings);
    if (!names.insert(group.name).second) {
      findings.Add(group.path + ".name", fmt::format("must be another than the names of the groups "
                                                     "before it: got \"{}\" again",
                                                     group.name));
      return;  // Those after it would be taken for others.
    }
  }
  if (ReplicasOf(workers) < 1) {
    findings.Add("spec.workers.groups", "must have a worker: got replicas 0 in all of them");
  } else if (MostOf(workers) > kWorkersMax) {
    findings.Add("spec.workers.groups",
                 fmt::format("must have at most {} workers together, by maxReplicas: got {}",
                             kWorkersMax, MostOf(workers)));
  }
}

}  // namespace paceline::job
