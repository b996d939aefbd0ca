// Defines what keeps the parameter servers of a job that cannot recover where they are: the loss of
// one costs everything since the start (docs/conditions.md, Recoverable).
#pragma once

#include <string>

#include "lib/job/manifest/training_job.h"
#include "lib/job/plan/plan.h"
#include "operator/objects/children.h"
#include "operator/objects/metadata.h"

namespace paceline::controller {

// Whether the job says that it cannot recover, and has something to lose: it is neither over nor
// suspended.
bool CannotBeDisrupted(const job::TrainingJob& job);

// Forbids that a parameter server is evicted, for as long as that is so.
std::string ServersBudgetName(const job::TrainingJob& job);
BudgetOfGroup BuildServersBudget(const job::TrainingJob& job);

// What Karpenter and the cluster autoscaler ask of a pod before they take its node away. Decided
// when a parameter server's pod is made, by where its checkpoints go; what the template says stays.
void LayDisruption(const job::TrainingJob& job, const job::Start& start, Json& pod);

}  // namespace paceline::controller
