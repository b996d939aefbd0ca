// Builds and reads the Secrets that hold a job's certificates and its token.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/job/manifest/training_job.h"
#include "lib/tls/credential.h"
#include "operator/objects/metadata.h"
#include "operator/objects/names.h"

namespace paceline::controller {

// The certificates of a block.
struct IssuedBlock {
  std::vector<tls::Credential> credentials;  // By index, from the block's first on.
  Time renew_at;                             // When the first of them is due.
};

// What an installation's seed gives for one job: what it seals its certificates with, and its
// token. InvalidArgument as tls::DeriveSecret.
StatusOr<std::string> SealFrom(const std::string& seed, const job::TrainingJob& job);
StatusOr<std::string> TokenFrom(const std::string& seed, const job::TrainingJob& job);

// One Secret for all of the block's processes: INDEX.crt and INDEX.key of each, and ca.crt. `seal`,
// a secret of the operator's own, proves to ReadTlsSecret that nobody else wrote it.
Json BuildTlsSecret(const job::TrainingJob& job, const TlsBlock& block, const IssuedBlock& issued,
                    const std::string& authority_certificate, const std::string& seal);

// What a process of that index mounts of it, as tls.crt, tls.key and ca.crt.
Json TlsItems(uint64_t index);

// As it was read from the API server. None if the Secret is not the job's child, lacks a part or
// was changed by anybody: it is then written anew.
std::optional<IssuedBlock> ReadTlsSecret(const job::TrainingJob& job, const TlsBlock& block,
                                         const Json& secret, const std::string& seal);

Json BuildTokenSecret(const job::TrainingJob& job, const std::string& token);
// Empty if the Secret is not the job's child or holds none.
std::string ReadTokenSecret(const job::TrainingJob& job, const Json& secret);

}  // namespace paceline::controller
