#include "operator/controller/secrets/control_tokens.h"

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/own_child.h"
#include "operator/controller/resources.h"
#include "operator/objects/mend.h"
#include "operator/objects/secrets.h"

namespace paceline::controller {

ControlTokens::ControlTokens(kube::Client* client) : client_(client) {}

Status ControlTokens::Ensure(const job::TrainingJob& job, const std::string& seed, SecretLook look,
                             KnownToken& known, FormerJob& former) {
  if (known.is_good && look == SecretLook::kRemembered) return OkStatus();
  PACELINE_ASSIGN_OR_RETURN(const std::string token, TokenFrom(seed, job));
  if (known.is_good) {
    PACELINE_ASSIGN_OR_RETURN(const bool is_unchanged, IsUnchanged(job, known));
    return is_unchanged ? OkStatus() : Mend(job, token, known, former);
  }
  // What lies there under this name is not ours to change before it is known to be.
  const Status made = Make(job, token, known);
  return IsAlreadyExists(made) ? Mend(job, token, known, former) : made;
}

StatusOr<bool> ControlTokens::IsUnchanged(const job::TrainingJob& job,
                                          const KnownToken& known) const {
  if (known.version.empty()) return false;
  const StatusOr<kube::Json> secret = client_->Call(
      kube::GetMetadata(kube::Secrets(), {job.metadata.name_space, TokenSecretName(job)}));
  if (IsNotFound(secret.status())) return false;
  PACELINE_RETURN_IF_ERROR(secret.status());
  return kube::ResourceVersion(*secret) == known.version;
}

Status ControlTokens::Make(const job::TrainingJob& job, const std::string& token,
                           KnownToken& known) {
  kube::Json wanted = BuildTokenSecret(job, token);
  LayUnder(wanted, known.defaults);
  PACELINE_RETURN_IF_ERROR(
      client_
          ->Call(kube::Create(kube::Secrets(), wanted,
                              {.field_manager = kFieldManager, .answer = kube::Answer::kNothing}))
          .status());
  known.is_good = true;
  known.version = "";
  return OkStatus();
}

Status ControlTokens::Mend(const job::TrainingJob& job, const std::string& token, KnownToken& known,
                           FormerJob& former) {
  PACELINE_ASSIGN_OR_RETURN(const FoundChild found, FindChild(*client_, job, kube::Secrets(),
                                                              TokenSecretName(job), former));
  known.is_good = false;
  known.version = "";
  if (found.is_in_the_way) return OkStatus();
  if (found.live.is_null()) return Make(job, token, known);
  kube::Json wanted = BuildTokenSecret(job, token);
  LayUnder(wanted, known.defaults);
  const bool is_as_wanted = !PatchTowards(found.live, wanted);
  if (!is_as_wanted)
    PACELINE_RETURN_IF_ERROR(MendChild(*client_, kube::Secrets(), found.live, wanted));
  // One that is being deleted is looked at again.
  known.is_good = true;
  if (is_as_wanted && !kube::IsBeingDeleted(found.live))
    known.version = kube::ResourceVersion(found.live);
  return OkStatus();
}

}  // namespace paceline::controller
