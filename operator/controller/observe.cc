#include "operator/controller/observe.h"

#include <map>

#include "operator/objects/seen_pod.h"

namespace paceline::controller {

std::vector<OwnPod> OwnPods(const job::TrainingJob& job, const std::vector<kube::ObjectPtr>& pods) {
  std::vector<OwnPod> own;
  for (const kube::ObjectPtr& pod : pods) {
    if (auto process = SeenPod(job, *pod)) own.push_back({pod, *std::move(process)});
  }
  return own;
}

job::Observation Observe(const job::TrainingJob& job, const std::vector<OwnPod>& pods,
                         const Tombstones& tombstones, const JobMemory& memory) {
  job::Observation seen;
  seen.status = job.status;
  seen.coordinator = memory.report;
  seen.refused = memory.refused;
  for (const OwnPod& own : pods) seen.processes.push_back(own.process);
  if (!job::IsFinished(job.status))
    tombstones.AddTo({job.metadata.name_space, job.metadata.name}, seen.processes);
  if (seen.coordinator) {
    std::map<std::string_view, std::string_view> nodes;
    for (const OwnPod& own : pods) nodes[own.process.name] = own.process.node;
    for (job::WorkerStatus& worker : seen.coordinator->workers) {
      worker.pod = worker.name;
      worker.node = nodes[worker.name];
    }
  }
  return seen;
}

}  // namespace paceline::controller
