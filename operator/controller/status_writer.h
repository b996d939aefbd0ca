// Defines StatusWriter: records a job's status in one write, and only when there is news.
#pragma once

#include <optional>

#include "lib/job/training_job.h"
#include "lib/kube/client/client.h"
#include "operator/controller/job_memory.h"

namespace paceline::controller {

inline constexpr Duration kProgressPeriod = std::chrono::seconds(10);

enum class StatusNews {
  kNone,
  kProgress,  // Numbers only: step, loss, workers' speed.
  kFacts,     // Anything else.
};
StatusNews NewsBetween(const job::JobStatus& before, const job::JobStatus& after);

struct StatusWritten {
  bool is_recorded = false;            // What is recorded says no less than `after`, but progress.
  std::optional<Duration> look_again;  // Progress is to be written then.
};

// Writes `after` where it differs from the status of `object`, which is the job as it was seen:
// facts at once, progress every kProgressPeriod at most. Aborted if somebody else wrote first.
StatusOr<StatusWritten> WriteStatus(kube::Client& client, const kube::Json& object,
                                    const job::JobStatus& before, const job::JobStatus& after,
                                    JobMemory& memory, Time now);

}  // namespace paceline::controller
