// Defines ControlTokens: what opens the control calls of coordinators where no certificate does.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "lib/job/training_job.h"
#include "lib/kube/client/client.h"
#include "operator/controller/authority_seed.h"

namespace paceline::controller {

// A job's token comes from the same seed as its authority, and lies in a Secret that its
// coordinator's pod mounts (docs/adr/0034). Thread-safe. Remembers what it has seen in order, so
// that at rest nothing is read or written; Secrets are never watched.
class ControlTokens {
 public:
  // Both outlive this.
  ControlTokens(kube::Client* client, AuthoritySeed* seed);

  // Makes the Secret if it is missing, and puts the token back into it; the pod gets it from its
  // kubelet. FailedPrecondition if a Secret of that name belongs to somebody else.
  Status Ensure(const job::TrainingJob& job);

  // The seed's errors.
  StatusOr<std::string> Of(const job::TrainingJob& job);

  // The job is gone, or its Secret should be looked at anew.
  void Forget(const std::string& job_uid);

 private:
  Status Write(const job::TrainingJob& job);

  kube::Client* const client_;
  AuthoritySeed* const seed_;
  std::mutex mutex_;
  std::set<std::string> good_;  // Uids of jobs.
};

}  // namespace paceline::controller
