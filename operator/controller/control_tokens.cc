#include "operator/controller/control_tokens.h"

#include "lib/kube/core/api_error.h"
#include "lib/tls/derived_secret.h"
#include "operator/controller/resources.h"
#include "operator/objects/secrets.h"

namespace paceline::controller {

ControlTokens::ControlTokens(kube::Client* client, AuthoritySeed* seed)
    : client_(client), seed_(seed) {}

StatusOr<std::string> ControlTokens::Of(const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(const std::string seed, seed_->Get());
  return tls::DeriveSecret(seed, "token/" + job.metadata.uid.value_or(""));
}

Status ControlTokens::Ensure(const job::TrainingJob& job) {
  const std::string uid = job.metadata.uid.value_or("");
  {
    const std::lock_guard lock(mutex_);
    if (good_.contains(uid)) return OkStatus();
  }
  PACELINE_RETURN_IF_ERROR(Write(job));
  const std::lock_guard lock(mutex_);
  good_.insert(uid);
  return OkStatus();
}

// Created, not applied: what lies there under this name is not ours to change before it is known to
// be.
Status ControlTokens::Write(const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(const std::string token, Of(job));
  const kube::Json wanted = BuildTokenSecret(job, token);
  const Status made =
      client_
          ->Call(kube::Create(kube::Secrets(), wanted,
                              {.field_manager = kFieldManager, .answer = kube::Answer::kNothing}))
          .status();
  if (!IsAlreadyExists(made)) return made;
  PACELINE_ASSIGN_OR_RETURN(
      const kube::Json there,
      client_->Call(kube::Get(kube::Secrets(), {job.metadata.name_space, TokenSecretName(job)})));
  if (!IsControlledBy(there, job.metadata.uid.value_or(""))) {
    return FailedPrecondition(
        "Secret {} is there and belongs to somebody else; rename it or the job",
        TokenSecretName(job));
  }
  if (ReadTokenSecret(job, there) == token) return OkStatus();
  return client_
      ->Call(kube::Apply(
          kube::Secrets(), wanted,
          {.field_manager = kFieldManager, .force = true, .answer = kube::Answer::kNothing}))
      .status();
}

void ControlTokens::Forget(const std::string& job_uid) {
  const std::lock_guard lock(mutex_);
  good_.erase(job_uid);
}

}  // namespace paceline::controller
