#include "operator/objects/claim.h"

#include <algorithm>

#include "lib/kube/core/metadata.h"
#include "operator/objects/children.h"
#include "operator/objects/names.h"

namespace paceline::controller {

namespace {

// So that who had the job, should it live yet, sees that it has it no more.
std::string HereWithSeedOf(const std::string& id, const Installation& own) {
  return PlaceOfInstallation(own.id) + "/" + FingerprintIn(id);
}

}  // namespace

std::optional<Keeper> JudgeClaim(const std::string& id, const KnownInstallations& known,
                                 JobLife life) {
  const Installation& own = known.with_seeds.front();
  const Keeper by_own{.installation = own, .id = own.id};
  if (id.empty() || id == own.id) return by_own;
  const auto has_made = [&](const Installation& one) {
    return !FingerprintIn(id).empty() && FingerprintIn(one.id) == FingerprintIn(id);
  };
  const auto former = std::find_if(known.with_seeds.begin() + 1, known.with_seeds.end(), has_made);
  if (former != known.with_seeds.end())
    return life == JobLife::kIsIdle
               ? by_own
               : Keeper{.installation = *former, .id = HereWithSeedOf(id, own)};
  const bool is_free = life != JobLife::kRuns || has_made(own);
  return is_free && IsAdopted(id, known) ? std::optional(by_own) : std::nullopt;
}

bool IsAdopted(const std::string& id, const KnownInstallations& known) {
  return std::ranges::any_of(known.adopted,
                             [&](const std::string& one) { return one == "*" || one == id; });
}

std::string ClaimIn(const Json& map) {
  return kube::Annotation(map, std::string(kInstallationAnnotation));
}

void PutClaim(Json& map, const std::string& id) {
  map["metadata"]["annotations"][std::string(kInstallationAnnotation)] = id;
}

Json WantedConfigMap(const job::TrainingJob& job, const std::string& installation,
                     const PodDefaults& defaults) {
  Json map = BuildConfigMap(job);
  RecordDefaults(map, defaults);
  LayUnder(map, defaults);
  PutClaim(map, installation);  // Last: the mark is of what the job wants, whoever has it.
  return map;
}

}  // namespace paceline::controller
