#include "lib/job/defaults.h"

#include <algorithm>

namespace paceline::job {

void ApplyDefaults(TrainingJob& job) {
  JobSpec& spec = job.spec;
  // At least 1: of too few replicas, replicas itself is to blame.
  if (!spec.workers.max_replicas)
    spec.workers.max_replicas = std::max<int64_t>(spec.workers.replicas, 1);
  if (spec.data.eval && !spec.evaluator) spec.evaluator.emplace();
}

}  // namespace paceline::job
