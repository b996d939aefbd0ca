#include "operator/controller/observe.h"

#include <map>

#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "operator/objects/seen_pod.h"

namespace paceline::controller {

job::Observation Observe(const job::TrainingJob& job, const std::vector<kube::ObjectPtr>& pods,
                         const Tombstones& tombstones, const JobMemory& memory) {
  job::Observation seen;
  seen.status = job.status;
  seen.coordinator = memory.report;
  seen.refused = memory.refused;
  std::map<std::string, std::string> nodes;
  for (const kube::ObjectPtr& pod : pods) {
    if (auto process = SeenPod(job, *pod)) seen.processes.push_back(*std::move(process));
    nodes[kube::Name(*pod)] = kube::StringAt(*pod, "/spec/nodeName");
  }
  if (!job::IsFinished(job.status))
    tombstones.AddTo({job.metadata.name_space, job.metadata.name}, seen.processes);
  if (seen.coordinator) {
    for (job::WorkerStatus& worker : seen.coordinator->workers) {
      worker.pod = worker.name;
      worker.node = nodes[worker.name];
    }
  }
  return seen;
}

}  // namespace paceline::controller
