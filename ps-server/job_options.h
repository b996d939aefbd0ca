// Turns a resolved TrainingJob into the options of the parts that carry it out.
#pragma once

#include <string_view>
#include <vector>

#include "lib/base/time.h"
#include "lib/coordination/coordinator.h"
#include "lib/job/manifest/training_job.h"
#include "ps-server/coordinator/straggler_watch.h"

namespace paceline::ps {

// `job` is valid (lib/job/validate): what it asks for beyond this program was refused there.
coordination::CoordinatorOptions CoordinatorOptionsFrom(const job::TrainingJob& job,
                                                        uint64_t generation_start);
// Empty where the job lists none.
std::vector<coordination::GroupOptions> GroupsFrom(const job::Workers& workers);
StragglerOptions StragglerOptionsFrom(const job::TrainingJob& job);
Duration TransferIdleFrom(const job::TrainingJob& job);
// Whether workers may map this process's memory: those that reach it at `listen` are on this
// machine, and the job wants it so.
bool SharesMemory(const job::TrainingJob& job, std::string_view listen);
// How long an answer may take of a peer that is asked whether it is there: what a slow link still
// holds of a transfer goes before it.
Duration KeepaliveTimeoutFrom(const job::TrainingJob& job);

}  // namespace paceline::ps
