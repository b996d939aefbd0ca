// Turns the spec.sync of a TrainingJob into the policy that it asks for.
#pragma once

#include <string>
#include <vector>

#include "lib/job/manifest/training_job.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::job {

// Of any job: that its parts make no sense together is sync::RefusalOf's to say (checks/sync.cc).
// Of blocks only those that the scheme, as it is composed, looks at: a change of another one
// changes no policy.
sync::PolicySpec PolicySpecFrom(const TrainingJob& job);

// What to say to people of a valid job's spec.sync, each with its path: it does what it says, and
// may not be what they want.
std::vector<std::string> CautionsOf(const TrainingJob& job);

}  // namespace paceline::job
