// Defines ReadAsJob: a part of a scenario that is written, and judged, as a TrainingJob's is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/node.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::simulator {

// Of the job that a scenario stands for, what that part is judged by.
struct JobAround {
  uint32_t workers = 1;
  uint32_t global_batch_size = 1;
  double momentum = 0;  // Of its SGD.
};

// A job whose spec.`section` is `node`, with its defaults. What is wrong with that part goes to
// `errors`, as of `path`; what only a whole job has to say does not.
job::TrainingJob ReadAsJob(const std::string& section, const job::Node& node,
                           const std::string& path, const JobAround& around,
                           std::vector<job::FieldError>& errors);

}  // namespace paceline::simulator
