// Decides whose a job is, of several installations of Paceline that see it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/objects/defaults/pod_defaults.h"
#include "operator/objects/installation.h"
#include "operator/objects/metadata.h"

namespace paceline::controller {

// What this operator was told of itself and of others.
struct KnownInstallations {
  // Itself; then those whose seeds it was given because they are gone: their ids say by which
  // Secret, and not where they were.
  std::vector<Installation> with_seeds;
  std::vector<std::string> adopted;  // Ids of others that are gone; "*": of all others.
};

// With whose seed this operator has a job, and whose claim is to stand on it.
struct Keeper {
  Installation installation;
  std::string id;
};

// An id for jobs whose Secrets somebody unknown made and that say nothing else.
inline constexpr std::string_view kUnknownInstallation = "unknown";

enum class JobLife {
  kRuns,
  kIsToStop,  // It is suspended, and processes of it are left.
  kIsIdle,    // Nothing of it runs, or it is over.
};

// `id`: whose claim is on the job; empty: nobody's. Nothing where the job is another's. A job of
// one that is gone is kept with its seed while its processes trust nothing else; without that seed
// it is another's until it is suspended.
std::optional<Keeper> JudgeClaim(const std::string& id, const KnownInstallations& known,
                                 JobLife life);
bool IsAdopted(const std::string& id, const KnownInstallations& known);

// What a job's ConfigMap says; empty: nothing.
std::string ClaimIn(const Json& map);
void PutClaim(Json& map, const std::string& id);

// The job's ConfigMap with all that it is to say: whose the job is, and which defaults it has.
Json WantedConfigMap(const job::TrainingJob& job, const std::string& installation,
                     const PodDefaults& defaults);

}  // namespace paceline::controller
