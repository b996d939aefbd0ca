// Defines PodDefaults: what whoever runs a cluster has all pods of all jobs begin with. A job's
// template wins; lists are merged by what tells their elements apart.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(PodDefaults defaults, ReadPodDefaults(text));
//   Json pod = BuildPod(WithDefaults(job, defaults), start, WithDefaults(options, defaults, role));
#pragma once

#include <vector>

#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/training_job.h"
#include "lib/job/process_name.h"
#include "operator/objects/metadata.h"
#include "operator/objects/options.h"

namespace paceline::controller {

struct PodDefaults {
  // "all", "parameterServer", "workers", "evaluator": an object each, as read_pod_defaults.h has
  // judged it; what says nothing is not there.
  Json sections = Json::object();
  // "ps", "worker", "workerCuda": Paceline's own images, where a template names none. What is not
  // there is today's.
  Json images = Json::object();

  bool IsEmpty() const { return sections.empty(); }  // But for images.
  friend bool operator==(const PodDefaults&, const PodDefaults&) = default;
};

// Those of all roles with the role's own over them.
Json DefaultsOf(const PodDefaults& defaults, job::Role role);

// Of `pod_template`, which may be absent, all stays: a field that is there, null too, counts as it
// is, and of
// - labels, annotations, node selectors and the pod's security context the keys are merged,
// - pull secrets and environment the names, tolerations all but their seconds,
// - resources those that neither a limit nor a request of the template names.
// Environment, resources and pull policy are those of the role's own container.
job::PodTemplate WithDefaults(const job::PodTemplate& pod_template, const PodDefaults& defaults,
                              job::Role role);

// With all its templates so. A priority class that schedulingPolicy names goes before a default.
job::TrainingJob WithDefaults(job::TrainingJob job, const PodDefaults& defaults);

Json ImagesOf(const ObjectOptions& options);

// Paceline's own images that the defaults have, from the registry that they name. Those that a
// template names are left as they are: it wins.
ObjectOptions WithDefaults(ObjectOptions options, const PodDefaults& defaults, job::Role role);

// Gives what stands around a job's pods the labels and annotations of "all", where it has no such
// one, and marks it (MarkWanted): as a whole, if it was marked, else by what it was given.
void LayUnder(Json& child, const PodDefaults& defaults);

// Writes into a job's ConfigMap, which is marked anew, what it was begun with; nothing of none.
void RecordDefaults(Json& config_map, const PodDefaults& defaults);
// Reads that again; also what another version has written, as far as it is known: the rest is told.
std::vector<job::FieldError> ReadRecord(const Json& config_map, PodDefaults& defaults);

}  // namespace paceline::controller
