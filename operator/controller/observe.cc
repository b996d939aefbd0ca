#include "operator/controller/observe.h"

#include <algorithm>
#include <map>

namespace paceline::controller {
namespace {

// What was recorded last, or would be by now if the first pods had not been more urgent.
job::JobStatus Recorded(const job::TrainingJob& job, const std::vector<OwnPod>& pods,
                        const JobMemory& memory) {
  job::JobStatus status = memory.untold.value_or(job.status);
  // Whoever made these pods may not have come to record it.
  for (const OwnPod& own : pods) {
    status.coordinator_starts =
        std::max(status.coordinator_starts, static_cast<int64_t>(own.process.generation_start));
  }
  return status;
}

}  // namespace

job::Observation Observe(const job::TrainingJob& job, const std::vector<OwnPod>& pods,
                         const Tombstones& tombstones, const JobMemory& memory) {
  job::Observation seen;
  seen.status = Recorded(job, pods, memory);
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

int64_t RecordedStarts(const job::TrainingJob& job, const std::vector<OwnPod>& pods,
                       const JobMemory& memory) {
  return Recorded(job, pods, memory).coordinator_starts;
}

}  // namespace paceline::controller
