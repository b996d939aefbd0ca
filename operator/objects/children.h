// Builds what stands around a job's pods: one function an object.
#pragma once

#include <optional>
#include <vector>

#include "lib/job/manifest/training_job.h"
#include "lib/job/state/checkpoint_place.h"
#include "operator/objects/metadata.h"
#include "operator/objects/options.h"

namespace paceline::controller {

// Of each: the job is valid, with its defaults and its uid; equal input gives an equal object.

// One headless Service gives every pod of the job its name, before it is ready too: who starts
// first finds the others as soon as they are there.
Json BuildService(const job::TrainingJob& job);

// The resolved job, as its programs read it.
Json BuildConfigMap(const job::TrainingJob& job);

// Lets in: the job's own pods to the parameter servers, the operator to the coordinator's API,
// anybody to the metrics. Nobody to workers.
Json BuildNetworkPolicy(const job::TrainingJob& job, const ObjectOptions& options);

// Keeps minReplicas workers of a group where a node is drained. None if that would forbid every
// eviction or if one worker is enough.
struct BudgetOfGroup {
  std::string name;  // That it has, or would have.
  std::optional<Json> budget;
};
std::vector<BudgetOfGroup> BuildDisruptionBudgets(const job::TrainingJob& job);

// spec.checkpoint.volumeClaimTemplate: one claim for each shard. They belong to the job, and go
// with it, only where persistentVolumeClaimRetentionPolicy.whenDeleted says so.
std::vector<Json> BuildCheckpointClaims(const job::TrainingJob& job);

// Who may mount a claim that is there.
job::ClaimAccess AccessOf(const Json& claim);

// What has to change of a claim that is there so that it goes with the job, or stays, as the job
// says, and no GitOps tool deletes it: a merge patch, or nothing. A claim that another job has made
// is that one's, and stays.
std::optional<Json> ClaimPatch(const job::TrainingJob& job, const Json& live);

// Whether the job would have a claim go with it that it has not made.
bool KeepsClaimOfAnother(const job::TrainingJob& job, const Json& live);

}  // namespace paceline::controller
