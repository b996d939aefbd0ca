// Defines ControlTokens: what opens the control calls of coordinators where no certificate does.
#pragma once

#include <string>

#include "lib/job/manifest/training_job.h"
#include "lib/kube/client/client.h"
#include "operator/controller/secrets/secret_look.h"
#include "operator/objects/defaults/pod_defaults.h"
#include "operator/objects/ownership.h"

namespace paceline::controller {

// What is known of one job's token; kept in its record.
struct KnownToken {
  bool is_good = false;
  std::string version = {};   // Of the Secret, once it was read and good.
  PodDefaults defaults = {};  // Whose labels and annotations it has.
};

// A job's token comes from the same seed as its authority, and lies in a Secret that its
// coordinator's pod mounts (docs/adr/0034). Thread-safe; holds nothing of a job. What is known of
// one is filled and read here alone, by one thread at a time.
class ControlTokens {
 public:
  // `client` outlives this.
  explicit ControlTokens(kube::Client* client);

  // Makes the Secret if it is missing, and puts the token back into it; the pod gets it from its
  // kubelet. Where a former job's is in the way `former` says so. FailedPrecondition if a Secret of
  // that name belongs to somebody else. `seed`: of the installation that has the job; with another
  // one `known` begins anew.
  Status Ensure(const job::TrainingJob& job, const std::string& seed, SecretLook look,
                KnownToken& known, FormerJob& former);

 private:
  Status Make(const job::TrainingJob& job, const std::string& token, KnownToken& known);
  // Of one that is there, or should be.
  Status Mend(const job::TrainingJob& job, const std::string& token, KnownToken& known,
              FormerJob& former);
  StatusOr<bool> IsUnchanged(const job::TrainingJob& job, const KnownToken& known) const;

  kube::Client* const client_;
};

}  // namespace paceline::controller
