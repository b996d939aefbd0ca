// Defines Prepare and RunUnderFire: one job of a soak, from its start to what it came to; and
// RunCalm, the same without faults.
#pragma once

#include <functional>
#include <string>

#include "tests/soak/report.h"

namespace paceline::soak {

struct JobOptions {
  uint64_t seed = 0;
  std::string folder;           // Of the soak; each job makes one of its own in it.
  std::string programs;         // Where the real ones lie.
  bool has_disks = false;       // TakeOwnMounts went well.
  double fire_seconds = 0;      // No episode begins later.
  double patience_seconds = 0;  // Without a step for so long, and without a fault, it hangs.
  std::function<void(const std::string&)> say;  // A line for people; from any thread.
};

// Makes the folder of that job and the programs in it. Call while no other thread of this process
// starts one: a child that still has a program's file open for writing keeps it from being started.
void Prepare(const JobOptions& options, const JobPlan& plan);

// What was prepared. Blocks until the job is over or was given up; then nothing of it runs any
// more. Thread-safe. The job's folder is removed if Complaints has none, but for the accuracy,
// which is the caller's to judge.
JobResult RunUnderFire(const JobOptions& options, const JobPlan& plan);

// The accuracy of that scheme after the least number of epochs that a job under fire has. Negative
// if it did not end well; then what is left of it stays in `folder`, which is not there yet.
double RunCalm(const Scheme& scheme, const std::string& folder);

}  // namespace paceline::soak
