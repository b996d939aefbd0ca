// Defines Certificates: a job's authority and the certificates of its roles, issued and renewed.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "lib/job/training_job.h"
#include "lib/kube/client/client.h"
#include "lib/tls/credential.h"
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
  // `client` outlives this.
  Certificates(kube::Client* client, Clock clock);

  struct Ensured {
    OwnCredential own;
    Time look_again;  // Then a certificate is due for renewal.
    bool has_evaluator = false;
  };
  // Makes what is missing, renews what is due; pods get renewed files from their kubelet.
  // FailedPrecondition if a Secret of that name belongs to somebody else.
  StatusOr<Ensured> Ensure(const job::TrainingJob& job);

  // The job is gone, or its Secrets should be looked at anew.
  void Forget(const std::string& job_uid);

 private:
  StatusOr<std::optional<ReadSecret>> Read(const job::TrainingJob& job, const std::string& name);
  StatusOr<tls::Credential> EnsureAuthority(const job::TrainingJob& job);
  StatusOr<ReadSecret> Issue(const job::TrainingJob& job, TlsRole role,
                             const tls::Credential& authority) const;
  // Of all roles that the job has. CreateRoles: side by side, where there are none yet.
  StatusOr<std::map<TlsRole, ReadSecret>> CreateRoles(const job::TrainingJob& job,
                                                      const tls::Credential& authority);
  StatusOr<std::map<TlsRole, ReadSecret>> EnsureRoles(const job::TrainingJob& job,
                                                      const tls::Credential& authority);
  StatusOr<ReadSecret> EnsureRole(const job::TrainingJob& job, TlsRole role,
                                  const tls::Credential& authority);

  kube::Client* const client_;
  const Clock clock_;
  std::mutex mutex_;
  std::map<std::string, Ensured> by_uid_;
};

}  // namespace paceline::controller
