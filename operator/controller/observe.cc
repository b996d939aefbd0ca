#include "operator/controller/observe.h"

#include <algorithm>
#include <map>

namespace paceline::controller {
namespace {

// What was recorded last, or would be by now if the first pods had not been more urgent.
job::JobStatus Recorded(const job::TrainingJob& job, const std::vector<OwnPod>& pods,
                        const JobRecord& record) {
  job::JobStatus status = record.unwritten.value_or(job.status);
  // Whoever made these pods may not have come to record it.
  for (const OwnPod& own : pods) {
    status.coordinator_starts =
        std::max(status.coordinator_starts, static_cast<int64_t>(own.process.generation_start));
  }
  return status;
}

}  // namespace

job::Observation Observe(const job::TrainingJob& job, const std::vector<OwnPod>& pods,
                         const JobRecord& record) {
  job::Observation seen;
  seen.status = Recorded(job, pods, record);
  seen.coordinator = record.talk.report();
  seen.silence = record.talk.silence();
  seen.refused = record.refused;
  for (const OwnPod& own : pods) seen.processes.push_back(own.process);
  if (!job::IsFinished(job.status)) {
    record.gone_pods.AddTo(seen.processes);
    for (size_t i = pods.size(); i < seen.processes.size(); ++i)
      record.clocks.CorrectGone(seen.processes[i]);
  }
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
                       const JobRecord& record) {
  return Recorded(job, pods, record).coordinator_starts;
}

}  // namespace paceline::controller
