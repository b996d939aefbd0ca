// Builds and reads the Secrets that hold a job's certificates.
#pragma once

#include <optional>

#include "lib/job/training_job.h"
#include "lib/tls/credential.h"
#include "operator/objects/metadata.h"
#include "operator/objects/names.h"

namespace paceline::controller {

// What the processes of one role mount: tls.crt, tls.key, ca.crt.
Json BuildTlsSecret(const job::TrainingJob& job, TlsRole role, const tls::Credential& credential,
                    const std::string& authority_certificate);

// A Secret as it was read from the API server, its values decoded.
struct ReadSecret {
  tls::Credential credential;
  std::string authority_certificate;
};

// None if the Secret is not the job's child or lacks a part: it is then written anew.
std::optional<ReadSecret> ReadTlsSecret(const job::TrainingJob& job, const Json& secret);

}  // namespace paceline::controller
