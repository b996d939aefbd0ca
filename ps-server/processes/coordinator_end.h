// How a coordinator says, in files and as a status, what its job came to.
#pragma once

#include "lib/base/status.h"
#include "lib/coordination/effect.h"
#include "lib/job/manifest/training_job.h"
#include "ps-server/coordinator/progress.h"
#include "ps-server/model/served_model.h"
#include "ps-server/options.h"
#include "ps-server/status_json.h"

namespace paceline::ps {

// What cannot be written is logged.
void WriteSummary(const Options& options, const Progress& progress, const JobView& view,
                  const coordination::Finished& finished);
void SayFinalState(const Options& options, const Progress& progress, const JobView& view,
                   const coordination::Finished& finished);

// After success; without it they stay for whoever goes on. A failure is logged.
void CloseCheckpoints(const Options& options, const job::TrainingJob& job);

// Until it was fetched or serving is stopped. Blocks.
void ServeUntilFetched(ServedModel& model);

// OK, Cancelled if it was suspended, or Aborted, with the reason.
Status StatusOf(const coordination::Finished& finished);

}  // namespace paceline::ps
