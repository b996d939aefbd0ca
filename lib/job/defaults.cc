#include "lib/job/defaults.h"

namespace paceline::job {

void ApplyDefaults(TrainingJob& job) {
  JobSpec& spec = job.spec;
  if (!spec.workers.max_replicas) spec.workers.max_replicas = spec.workers.replicas;
  if (spec.data.eval && !spec.evaluator) spec.evaluator.emplace();
}

}  // namespace paceline::job
