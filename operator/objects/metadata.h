// Builds the metadata of a job's children.
#pragma once

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "lib/job/manifest/training_job.h"

namespace paceline::controller {

using Json = nlohmann::json;

// The job as controlling owner: what it owns goes with it, and not before it where the owner is
// deleted in the foreground. The job has its uid.
Json OwnerReference(const job::TrainingJob& job);

// name, namespace, labels, ownerReferences.
Json ChildMetadata(const job::TrainingJob& job, const std::string& name,
                   const std::map<std::string, std::string>& labels);

// Whether `object` is a child of the job with this uid, by its controlling owner reference. Labels
// alone make nothing a child.
bool IsControlledBy(const Json& object, const std::string& uid);

// Adds the annotation kWantedAnnotation: a hash of all of `object`. Two objects that are wanted
// alike have the same one.
void MarkWanted(Json& object);
// Whether `existing` was last written from `wanted`, which is marked.
bool IsAsWanted(const Json& existing, const Json& wanted);

}  // namespace paceline::controller
