// Defines DriverOptionsFrom: the driver of a job as a coordinator's process runs it.
#pragma once

#include "lib/job/manifest/training_job.h"
#include "ps-server/coordinator/driver.h"
#include "ps-server/job_tls.h"
#include "ps-server/live_job.h"
#include "ps-server/model/frozen_file.h"
#include "ps-server/model/served_model.h"
#include "ps-server/options.h"
#include "ps-server/processes/coordinator_files.h"

namespace paceline::ps {

// What the driver's calls use: all of it outlives the driver.
struct DriverNeeds {
  const Options& options;
  const job::TrainingJob& job;
  const JobTls& tls;
  const CoordinatorFiles& files;
  const LiveJob& live;
  ServedModel& model;
  FrozenFile& frozen;
  DriverMetrics& metrics;
};

DriverOptions DriverOptionsFrom(const DriverNeeds& needs);

}  // namespace paceline::ps
