// Defines Certificates: a job's authority and the certificates of its processes, issued and
// renewed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/job/manifest/training_job.h"
#include "lib/kube/client/client.h"
#include "lib/tls/credential.h"
#include "lib/tls/issue.h"
#include "operator/controller/clock.h"
#include "operator/controller/secrets/secret_look.h"
#include "operator/objects/defaults/pod_defaults.h"
#include "operator/objects/ownership.h"
#include "operator/objects/secrets.h"

namespace paceline::controller {

// What this program shows to a coordinator, and whom it believes.
struct OwnCredential {
  tls::Credential credential;
  std::string authority_certificate;
};

// What is known of one job's certificates; kept in its record.
struct KnownCertificates {
  Time pods_due = Time::min();        // When the first of the pods' certificates has to be renewed.
  std::vector<TlsBlock> blocks = {};  // That there are.
  std::map<std::string, std::string> versions = {};  // Of Secrets that were read and good, by name.
  OwnCredential own{};
  Time own_due = Time::min();
  PodDefaults defaults = {};  // Whose labels and annotations the Secrets have.
};

// Thread-safe; holds nothing of a job. What is known of one is filled and read here alone, by one
// thread at a time.
class Certificates {
 public:
  // `client` outlives this.
  Certificates(kube::Client* client, Clock clock);

  // Makes the pods' certificates that are missing, of as many workers as the job may be scaled to,
  // and renews what is due, in place; pods get renewed files from their kubelet. Of a former job's
  // Secret that is in the way nothing is made, and `former` says so. FailedPrecondition if a Secret
  // of that name belongs to somebody else. `seed`: of the installation that has the job; with
  // another one `known` begins anew.
  Status Ensure(const job::TrainingJob& job, const std::string& seed, SecretLook look,
                KnownCertificates& known, FormerJob& former);

  // Issued when it is first asked for or due; lies in no Secret.
  StatusOr<OwnCredential> Own(const job::TrainingJob& job, const std::string& seed,
                              KnownCertificates& known);

 private:
  // What a job's certificates are issued and recognised with.
  struct Stamp {
    tls::Issuer authority;
    std::string seal;
  };
  StatusOr<Stamp> StampOf(const job::TrainingJob& job, const std::string& seed) const;
  // All of these: when the first of the pods' certificates has to be renewed; Time::min() where a
  // former job's Secret is in the way. Create makes all Secrets side by side, where there are none
  // yet.
  StatusOr<Time> Create(const job::TrainingJob& job, const Stamp& stamp,
                        const std::vector<TlsBlock>& blocks, KnownCertificates& known,
                        FormerJob& former);
  StatusOr<Time> Complete(const job::TrainingJob& job, const Stamp& stamp,
                          const std::vector<TlsBlock>& blocks, KnownCertificates& known,
                          FormerJob& former);
  StatusOr<Time> CompleteBlock(const job::TrainingJob& job, const TlsBlock& block,
                               const Stamp& stamp, KnownCertificates& known, FormerJob& former);
  // Whether all Secrets are those that were read and good.
  StatusOr<bool> AreUnchanged(const job::TrainingJob& job, const KnownCertificates& known) const;
  // Adds what `issued` lacks of the block.
  Status Issue(const job::TrainingJob& job, const TlsBlock& block, const tls::Issuer& authority,
               IssuedBlock& issued) const;

  kube::Client* const client_;
  const Clock clock_;
};

}  // namespace paceline::controller
