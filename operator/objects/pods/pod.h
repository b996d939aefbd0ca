// Builds the pod of one process of a job: the user's template with what Paceline needs laid over
// it.
//
// Merged the way Kubernetes users expect: their containers, volumes, tolerations, affinity,
// resources, runtime and priority classes stay; of the container that is Paceline's own, image,
// resources, probes and security context are theirs where they say so, arguments and environment of
// theirs come last and win. What nobody says is the restricted pod security standard: not root, all
// capabilities dropped, a root file system that cannot be written. Null says that a field is left
// out, which whoever admits the pod may then fill in.
#pragma once

#include <string_view>

#include "lib/job/manifest/training_job.h"
#include "lib/job/plan/plan.h"
#include "operator/objects/metadata.h"
#include "operator/objects/options.h"

namespace paceline::controller {

// The job is valid, with its defaults and its uid. Equal input gives an equal pod.
Json BuildPod(const job::TrainingJob& job, const job::Start& start, const ObjectOptions& options);

// What the manifest has for such a pod, and where: "spec.workers.template".
const job::PodTemplate& TemplateOf(const job::JobSpec& spec, const job::Start& start);
std::string TemplatePath(const job::JobSpec& spec, const job::Start& start);

}  // namespace paceline::controller
