#include "lib/job/manifest/defaults.h"

#include <algorithm>

#include "lib/job/manifest/note.h"

namespace paceline::job {

void ApplyDefaults(TrainingJob& job) {
  JobSpec& spec = job.spec;
  // Within its bounds: of too few or too many replicas, replicas itself is to blame.
  constexpr auto kMost = static_cast<int64_t>(kProcessesMax);
  if (!spec.workers.max_replicas && spec.workers.groups.empty())
    spec.workers.max_replicas = std::clamp<int64_t>(spec.workers.replicas, 1, kMost);
  for (WorkerGroup& group : spec.workers.groups) {
    if (!group.max_replicas) group.max_replicas = std::clamp<int64_t>(group.replicas, 0, kMost);
  }
  if (spec.data.eval && !spec.evaluator) spec.evaluator.emplace();
}

}  // namespace paceline::job
