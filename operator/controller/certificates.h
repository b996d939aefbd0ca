// Defines Certificates: a job's authority and the certificates of its processes, issued and
// renewed.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

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
  // Both outlive this.
  Certificates(kube::Client* client, AuthoritySeed* seed, Clock clock);

  // Makes the pods' certificates that are missing, of as many workers as the job may be scaled to,
  // and renews what is due; pods get renewed files from their kubelet. FailedPrecondition if a
  // Secret of that name belongs to somebody else.
  Status Ensure(const job::TrainingJob& job);

  // Issued when it is first asked for or due; lies in no Secret.
  StatusOr<OwnCredential> Own(const job::TrainingJob& job);

  // The job is gone, or its Secrets should be looked at anew.
  void Forget(const std::string& job_uid);

 private:
  struct Known {
    Time pods_due = Time::min();   // When the first of the pods' certificates has to be renewed.
    std::vector<TlsBlock> blocks;  // That there are.
    OwnCredential own{};
    Time own_due = Time::min();
  };
  Known KnownOf(const job::TrainingJob& job);

  // What a job's certificates are issued and recognised with.
  struct Stamp {
    tls::Issuer authority;
    std::string seal;
  };
  StatusOr<Stamp> StampOf(const job::TrainingJob& job);
  // Both: when the first of the pods' certificates has to be renewed. Create makes all Secrets side
  // by side, where there are none yet.
  StatusOr<Time> Create(const job::TrainingJob& job, const std::vector<TlsBlock>& blocks);
  StatusOr<Time> Complete(const job::TrainingJob& job, const std::vector<TlsBlock>& blocks);
  StatusOr<Time> CompleteBlock(const job::TrainingJob& job, const TlsBlock& block,
                               const Stamp& stamp);
  StatusOr<std::optional<IssuedBlock>> Read(const job::TrainingJob& job, const TlsBlock& block,
                                            const Stamp& stamp);
  // Adds what `issued` lacks of the block.
  Status Issue(const job::TrainingJob& job, const TlsBlock& block, const tls::Issuer& authority,
               IssuedBlock& issued) const;

  kube::Client* const client_;
  AuthoritySeed* const seed_;
  const Clock clock_;
  std::mutex mutex_;
  std::map<std::string, Known> by_uid_;
};

}  // namespace paceline::controller
