// Defines StatusText: a job of a cluster by what its TrainingJob says, for when its coordinator
// cannot be asked.
#pragma once

#include <string>

#include "lib/job/manifest/training_job.h"

namespace paceline::commands {

// Lines, each ended: the name and the state in one word, the latest progress if there is some, and
// each condition that says why nothing moves or what is amiss.
std::string StatusText(const job::TrainingJob& job);

// The first of those lines.
std::string Headline(const job::TrainingJob& job);

}  // namespace paceline::commands
