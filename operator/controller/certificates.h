// Defines Certificates: a job's authority and the certificates of its roles, issued and renewed.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "lib/job/training_job.h"
#include "lib/kube/client/client.h"
#include "lib/tls/credential.h"
#include "lib/tls/issue.h"
#include "operator/controller/authority_seed.h"
#include "operator/controller/clock.h"
#include "operator/objects/secrets.h"

namespace paceline::controller {

// What this program shows to a coordinator, and whom it believes.
struct OwnCredential {
  tls::Credential credential;
  std::string authority_certificate;
};

// Thread-safe. Remembers what it has seen in order, so that at rest nothing is read or written;
// Secrets are never watched.
class Certificates {
 public:
  // `client` outlives this. The seed of all authorities lies in `operator_namespace`.
  Certificates(kube::Client* client, std::string operator_namespace, Clock clock);

  // Makes the pods' certificates that are missing, renews what is due; pods get renewed files from
  // their kubelet. FailedPrecondition if a Secret of that name belongs to somebody else.
  Status Ensure(const job::TrainingJob& job);

  // Issued when it is first asked for or due; lies in no Secret.
  StatusOr<OwnCredential> Own(const job::TrainingJob& job);

  // The job is gone, or its Secrets should be looked at anew.
  void Forget(const std::string& job_uid);

 private:
  struct Known {
    Time pods_due = Time::min();  // When the first of the pods' certificates has to be renewed.
    bool has_evaluator = false;
    OwnCredential own{};
    Time own_due = Time::min();
  };
  Known KnownOf(const job::TrainingJob& job);

  StatusOr<tls::Issuer> AuthorityOf(const job::TrainingJob& job);
  // Both: when the first of the pods' certificates has to be renewed. Create makes all Secrets side
  // by side, where there are none yet.
  StatusOr<Time> Create(const job::TrainingJob& job);
  StatusOr<Time> Complete(const job::TrainingJob& job);
  StatusOr<Time> CompleteRole(const job::TrainingJob& job, TlsRole role,
                              const tls::Issuer& authority);
  StatusOr<std::optional<ReadSecret>> Read(const job::TrainingJob& job, const std::string& name);
  struct Held {
    tls::Credential credential;
    Time due;
  };
  StatusOr<Held> Issue(const job::TrainingJob& job, TlsRole role,
                       const tls::Issuer& authority) const;

  kube::Client* const client_;
  const Clock clock_;
  AuthoritySeed seed_;
  std::mutex mutex_;
  std::map<std::string, Known> by_uid_;
};

}  // namespace paceline::controller
