// Gives each struct of the manifest its Fields (note.h); this file has those of the top and
// includes all others.
#pragma once

#include "lib/job/manifest/fields/data.h"
#include "lib/job/manifest/fields/observability.h"
#include "lib/job/manifest/fields/processes.h"
#include "lib/job/manifest/fields/run_policy.h"
#include "lib/job/manifest/fields/status.h"
#include "lib/job/manifest/fields/sync.h"
#include "lib/job/manifest/fields/training.h"
#include "lib/job/manifest/note.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::job {

// Fields of Kubernetes' own that are accepted under metadata and dropped.
inline constexpr std::string_view kIgnoredMetadata[] = {
    "managedFields", "ownerReferences", "finalizers", "selfLink", "deletionGracePeriodSeconds"};

template <class V>
void Fields(V& visit, Metadata& metadata) {
  visit("name", metadata.name,
        Note{.text = "lower case letters, digits and -; names of pods begin with it",
             .presence = kRequired,
             .mutability = kImmutable,
             .min = 1});
  visit("namespace", metadata.name_space,
        Note{.text = "as in Kubernetes", .mutability = kImmutable, .min = 1});
  visit("labels", metadata.labels, Note{.text = "as in Kubernetes"});
  visit("annotations", metadata.annotations, Note{.text = "as in Kubernetes"});
  visit("uid", metadata.uid, Note{.text = "given by Kubernetes"});
  visit("resourceVersion", metadata.resource_version, Note{.text = "given by Kubernetes"});
  visit("generation", metadata.generation, Note{.text = "given by Kubernetes", .min = 0});
  visit("creationTimestamp", metadata.creation_timestamp, Note{.text = "given by Kubernetes"});
  visit("deletionTimestamp", metadata.deletion_timestamp, Note{.text = "given by Kubernetes"});
}

template <class V>
void Fields(V& visit, JobSpec& spec) {
  visit(
      "model", spec.model,
      Note{.text =
               "the model that is trained; required without workers.command, which brings its own",
           .mutability = kImmutable,
           .stays_absent = true});
  visit("data", spec.data,
        Note{.text =
                 "files of samples, required without workers.command; relative paths start at the "
                 "manifest's folder, in pods at /paceline/job",
             .mutability = kImmutable,
             .stays_absent = true});
  visit("training", spec.training, Note{.text = "how it is trained", .presence = kRequired});
  visit("sync", spec.sync,
        Note{.text = "the synchronisation scheme; may change while the job runs"});
  visit("parameterServer", spec.parameter_server,
        Note{.text = "processes that hold the parameters"});
  visit("workers", spec.workers, Note{.text = "processes that compute gradients"});
  visit("evaluator", spec.evaluator,
        Note{.text = "evaluates published versions off the training path; there by default with "
                     "data.eval"});
  visit(
      "checkpoint", spec.checkpoint,
      Note{.text = "absent: a few that cost next to nothing, where there is a place for them; the "
                   "condition Recoverable says whether there is"});
  visit("output", spec.output, Note{.text = "where the trained model goes"});
  visit("network", spec.network,
        Note{.text = "how patient transfers between processes are", .stays_absent = true});
  visit("security", spec.security, Note{.text = "of the links between processes"});
  visit(
      "observability", spec.observability,
      Note{.text = "what the job writes down of itself, and how much of it", .stays_absent = true});
  visit("runPolicy", spec.run_policy, Note{.text = "when the job stops, restarts and goes away"});
  visit("chaos", spec.chaos,
        Note{.text = "injected delays, for experiments", .stays_absent = true});
}

template <class V>
void Fields(V& visit, TrainingJob& job) {
  visit("metadata", job.metadata, Note{.text = "as in Kubernetes", .presence = kRequired});
  visit("spec", job.spec,
        Note{.text = "what is wanted: model, data, processes and how they train",
             .presence = kRequired});
  visit("status", job.status, Note{.text = "what is; written by Paceline alone"});
}

}  // namespace paceline::job
