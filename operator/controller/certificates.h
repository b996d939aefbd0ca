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
  // What one role shows, and when that has to be renewed.
  struct Held {
    tls::Credential credential;
    Time due;
  };

  StatusOr<std::optional<ReadSecret>> Read(const job::TrainingJob& job, const std::string& name);
  struct All {
    Held own{};  // Issued anew whenever the authority is looked at; in no Secret.
    std::string authority_certificate;
    Time pods_due = Time::max();  // When the first of the pods' certificates has to be renewed.
  };
  // All Secrets side by side, where there are none yet.
  StatusOr<All> Create(const job::TrainingJob& job);
  StatusOr<All> Complete(const job::TrainingJob& job);
  StatusOr<tls::Credential> CompleteAuthority(const job::TrainingJob& job);
  // When what the role's Secret now holds has to be renewed.
  StatusOr<Time> CompleteRole(const job::TrainingJob& job, TlsRole role, const tls::Issuer& issuer);
  StatusOr<Held> Issue(const job::TrainingJob& job, TlsRole role, const tls::Issuer& issuer) const;
  StatusOr<tls::Issuer> MakeAuthority(const job::TrainingJob& job) const;

  kube::Client* const client_;
  const Clock clock_;
  std::mutex mutex_;
  std::map<std::string, Ensured> by_uid_;
};

}  // namespace paceline::controller
