// Reads and mends one child of a job that is there already.
#pragma once

#include <string>

#include "lib/base/status.h"
#include "lib/job/manifest/training_job.h"
#include "lib/kube/client/client.h"
#include "operator/objects/ownership.h"

namespace paceline::controller {

struct FoundChild {
  kube::Json live;  // The job's own, or an orphan that is to be its own; null if there is none.
  bool is_in_the_way = false;  // A former job's: nothing can be made until it is gone.
};

// What lies under the name of a child. One that is a former job's, or an orphan that is being
// deleted, is added to `former`. FailedPrecondition if it is somebody else's: it is left alone.
StatusOr<FoundChild> FindChild(kube::Client& client, const job::TrainingJob& job,
                               const kube::Resource& resource, const std::string& name,
                               FormerJob& former);

// Makes `live`, as it was read, be as wanted, in place; Aborted if somebody changed it meanwhile.
// Nothing is written where it is so already.
Status MendChild(kube::Client& client, const kube::Resource& resource, const kube::Json& live,
                 const kube::Json& wanted);

// Adds what is in the way to it, by its kind.
void AddTo(FormerJob& former, const kube::Resource& resource, const std::string& name);

}  // namespace paceline::controller
