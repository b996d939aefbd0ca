// Defines StatusWriter: records a job's status in one write, and only when there is news.
#pragma once

#include <optional>

#include "lib/job/manifest/training_job.h"
#include "lib/kube/client/client.h"
#include "operator/controller/job_record.h"

namespace paceline::controller {

inline constexpr Duration kProgressPeriod = std::chrono::seconds(10);

// Nothing has been written of the job yet, as far as this status shows.
inline bool IsUnwritten(const job::JobStatus& status) { return status.conditions.empty(); }

enum class StatusNews {
  kNone,
  kProgress,  // Numbers only: step, loss, workers' speed, how many are waited for.
  kFacts,     // Anything else.
};
StatusNews NewsBetween(const job::JobStatus& before, const job::JobStatus& after);

// Writes `after` where it differs from the status of `object`, which is the job as it was seen:
// facts at once, progress every kProgressPeriod at most. Returns how long from now progress that it
// held back is to be written, if it held back any. Aborted if somebody else wrote first.
StatusOr<std::optional<Duration>> WriteStatus(kube::Client& client, const kube::Json& object,
                                              const job::JobStatus& before,
                                              const job::JobStatus& after, JobRecord& record,
                                              Time now);

}  // namespace paceline::controller
