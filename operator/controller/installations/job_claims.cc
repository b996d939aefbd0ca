#include "operator/controller/installations/job_claims.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "lib/tls/derived_secret.h"
#include "operator/controller/own_child.h"
#include "operator/controller/resources.h"
#include "operator/controller/status_writer.h"
#include "operator/objects/children.h"
#include "operator/objects/names.h"
#include "operator/objects/ownership.h"
#include "operator/objects/secrets.h"

namespace paceline::controller {
namespace {

void Take(JobRecord& record, const Keeper& keeper) {
  if (record.claim.seed != keeper.installation.seed) {
    record.certificates = {.defaults = std::move(record.certificates.defaults)};
    record.token = {.defaults = std::move(record.token.defaults)};
  }
  record.claim = {.whose = Whose::kOurs,
                  .installation = keeper.id,
                  .seed = keeper.installation.seed,
                  .unclaimed_version = "",
                  .sealed_by = ""};
}

// A Secret that a job has, if it is there.
struct Sealed {
  std::optional<TlsBlock> block;  // Of certificates; else it is that of the token.
  kube::Json secret;
};

StatusOr<bool> IsMadeWith(const std::string& seed, const job::TrainingJob& job,
                          const Sealed& sealed) {
  if (sealed.block) {
    PACELINE_ASSIGN_OR_RETURN(const std::string seal, SealFrom(seed, job));
    return ReadTlsSecret(job, *sealed.block, sealed.secret, seal).has_value();
  }
  PACELINE_ASSIGN_OR_RETURN(const std::string token, TokenFrom(seed, job));
  return tls::AreSameSecrets(ReadTokenSecret(job, sealed.secret), token);
}

}  // namespace

JobClaims::JobClaims(kube::Client* client, const ClusterView* view, Installations* installations)
    : client_(client), view_(view), installations_(installations) {}

Status JobClaims::Settle(const job::TrainingJob& job, JobRecord& record) {
  const kube::ObjectPtr map =
      view_->Child(kube::ConfigMaps().plural, {job.metadata.name_space, ConfigMapName(job)});
  if (map != nullptr && OwnershipOf(job, *map) == Ownership::kOurs)
    return SettleBy(job, map.get(), record);
  // Not seen yet, or deleted by somebody: then it is made again, with all else.
  if (record.claim.whose == Whose::kOurs) return OkStatus();
  return SettleBy(job, nullptr, record);
}

Status JobClaims::SettleBy(const job::TrainingJob& job, const kube::Json* map, JobRecord& record) {
  JobClaim& claim = record.claim;
  const std::string written = map == nullptr ? "" : ClaimIn(*map);
  const JobLife life = LifeOf(job);
  if (claim.whose == Whose::kOurs && claim.installation == written && life != JobLife::kIsIdle)
    return OkStatus();
  // The view shows yet what was before.
  if (map != nullptr && !claim.patched.empty() && claim.patched == kube::ResourceVersion(*map))
    return OkStatus();
  Status unused;
  const StatusOr<KnownInstallations> known = installations_->Known(&unused);
  if (!known.ok()) {
    if (written.empty() || PlaceOfInstallation(written) == installations_->place())
      return known.status();
    claim = {.whose = Whose::kAnothers, .installation = written};
    return OkStatus();
  }

  std::string id = written;
  if (written.empty() && claim.whose == Whose::kOurs) {
    id = claim.installation;
  } else if (written.empty() && !IsUnwritten(job.status)) {
    const std::string version = map == nullptr ? "none" : kube::ResourceVersion(*map);
    if (claim.unclaimed_version != version) {
      PACELINE_ASSIGN_OR_RETURN(claim.sealed_by, SealedBy(job, *known));
      claim.unclaimed_version = version;
    }
    id = claim.sealed_by;
  }
  const std::optional<Keeper> keeper = JudgeClaim(id, *known, life);
  if (!keeper) {
    claim.whose = Whose::kAnothers;
    claim.installation = id;
    claim.seed.clear();
    return OkStatus();
  }
  if (map == nullptr && !job::IsFinished(job.status)) return Make(job, *keeper, record);
  if (map != nullptr && written != keeper->id) {
    kube::Json patch = {{"metadata", {{"resourceVersion", kube::ResourceVersion(*map)}}}};
    PutClaim(patch, keeper->id);
    PACELINE_RETURN_IF_ERROR(
        client_
            ->Call(kube::MergePatch(
                kube::ConfigMaps(), {job.metadata.name_space, ConfigMapName(job)}, patch,
                {.field_manager = kFieldManager, .answer = kube::Answer::kNothing}))
            .status());
  }
  Take(record, *keeper);
  if (map != nullptr && written != keeper->id) claim.patched = kube::ResourceVersion(*map);
  return OkStatus();
}

// Created, not changed: of two that come at once the API server lets one have the job.
Status JobClaims::Make(const job::TrainingJob& job, const Keeper& keeper, JobRecord& record) {
  const kube::Json map = WantedConfigMap(job, keeper.id, record.defaults.value_or(PodDefaults{}));
  const Status made =
      client_
          ->Call(kube::Create(kube::ConfigMaps(), map,
                              {.field_manager = kFieldManager, .answer = kube::Answer::kNothing}))
          .status();
  if (made.ok()) {
    record.children.map_made = kube::Annotation(map, std::string(kWantedAnnotation));
    Take(record, keeper);
    return OkStatus();
  }
  if (!IsAlreadyExists(made)) return made;
  PACELINE_ASSIGN_OR_RETURN(const FoundChild found, FindChild(*client_, job, kube::ConfigMaps(),
                                                              ConfigMapName(job), record.former));
  if (found.is_in_the_way) return OkStatus();
  if (found.live.is_null()) return Aborted("ConfigMap {} went away just now", ConfigMapName(job));
  if (OwnershipOf(job, found.live) == Ownership::kOurs) return SettleBy(job, &found.live, record);
  PACELINE_RETURN_IF_ERROR(MendChild(*client_, kube::ConfigMaps(), found.live, map));
  Take(record, keeper);
  return OkStatus();
}

StatusOr<std::string> JobClaims::SealedBy(const job::TrainingJob& job,
                                          const KnownInstallations& known) const {
  std::vector<std::optional<TlsBlock>> blocks;
  std::vector<kube::Request> requests;
  const auto add = [&](std::optional<TlsBlock> block, const std::string& name) {
    blocks.push_back(std::move(block));
    requests.push_back(kube::Get(kube::Secrets(), {job.metadata.name_space, name}));
  };
  for (const TlsBlock& block : TlsBlocksOf(job))
    add(block, TlsSecretName(job, block.role, block.number, block.group));
  add(std::nullopt, TokenSecretName(job));
  const std::vector<StatusOr<kube::Json>> secrets = client_->CallAll(std::move(requests));
  bool has_any = false;
  for (size_t i = 0; i < secrets.size(); ++i) {
    if (IsNotFound(secrets[i].status())) continue;
    PACELINE_RETURN_IF_ERROR(secrets[i].status());
    if (!IsControlledBy(*secrets[i], job.metadata.uid.value_or(""))) continue;
    has_any = true;
    for (const Installation& one : known.with_seeds) {
      PACELINE_ASSIGN_OR_RETURN(const bool is_made,
                                IsMadeWith(one.seed, job, {blocks[i], *secrets[i]}));
      if (is_made) return one.id;
    }
  }
  return has_any ? std::string(kUnknownInstallation) : "";
}

JobLife JobClaims::LifeOf(const job::TrainingJob& job) const {
  if (job::IsFinished(job.status)) return JobLife::kIsIdle;
  if (!job.spec.run_policy.suspend) return JobLife::kRuns;
  const bool has_pods = !view_->PodsOf(job.metadata.uid.value_or("")).empty();
  return has_pods ? JobLife::kIsToStop : JobLife::kIsIdle;
}

bool JobClaims::LacksSeeds() {
  Status trouble;
  return installations_->Known(&trouble).ok() && !trouble.ok();
}

std::string JobClaims::Describe(const JobClaim& claim) {
  Status trouble;
  const StatusOr<KnownInstallations> known = installations_->Known(&trouble);
  const std::string self =
      known.ok() ? known->with_seeds.front().id : installations_->place() + ", which has no seed";
  const bool is_unknown = claim.installation == kUnknownInstallation;
  const bool waits = known.ok() && IsAdopted(claim.installation, *known);
  std::string text = fmt::format(
      "another installation of Paceline has this job ({}); this one ({}) "
      "leaves it alone. ",
      claim.installation, self);
  if (waits) {
    text +=
        "It is adopted once it is suspended or over; at once with the seed of the other one "
        "(--adopt-seed)";
  } else {
    text += fmt::format("If the other one is gone, start this one with --adopt={}",
                        is_unknown ? "'*'" : claim.installation);
  }
  if (!trouble.ok()) text += fmt::format(". {}", Message(trouble));
  return text;
}

}  // namespace paceline::controller
