#include "operator/controller/observe.h"

#include <map>

namespace paceline::controller {

job::Observation Observe(const job::TrainingJob& job, const std::vector<OwnPod>& pods,
                         const Tombstones& tombstones, const JobMemory& memory) {
  job::Observation seen;
  seen.status = job.status;
  seen.coordinator = memory.talk.report();
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
