// Says whose an object is that lies under the name of a job's child.
#pragma once

#include <set>
#include <string>

#include "lib/job/manifest/training_job.h"
#include "operator/objects/metadata.h"

namespace paceline::controller {

enum class Ownership {
  kOurs,      // The job controls it.
  kOrphaned,  // Nobody does, and it has the job's label and a mark of the operator's: left by
              // `kubectl delete --cascade=orphan`.
  kFormer,    // Of an earlier job of the same name, with which it goes.
  kForeign,   // Somebody else's.
};
Ownership OwnershipOf(const job::TrainingJob& job, const Json& object);

// What an earlier job of the same name has left and that has to be gone before this one can have
// its own (docs/adr/0037).
struct FormerJob {
  std::set<std::string> pods;     // Names.
  std::set<std::string> orphans;  // Names of pods that do not go by themselves.
  std::set<std::string> others;   // "Secret digits-token".

  bool IsGone() const { return pods.empty() && orphans.empty() && others.empty(); }
};
// Adds a pod with the job's labels if it was made for another job of that name, which is gone or
// going, or has left its pods to themselves. In a pod that a person made there is no trace of that.
void AddPod(FormerJob& former, const job::TrainingJob& job, const Json& pod);
// "pods digits-ps-0, digits-worker-1; Secret digits-token": ten of each kind at most, and how many
// more. Empty where all is gone.
std::string Describe(const FormerJob& former);

}  // namespace paceline::controller
