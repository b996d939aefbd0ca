#include "operator/controller/installations/installations.h"

#include <utility>

#include <fmt/format.h>

namespace paceline::controller {
namespace {

constexpr std::chrono::seconds kFailurePause(10);

}  // namespace

Installations::Installations(kube::Client* client, InstallationOptions options)
    : client_(client), options_(std::move(options)), seed_(client, options_.place.name_space) {}

StatusOr<KnownInstallations> Installations::Known(Status* trouble) {
  *trouble = OkStatus();
  const kube::ObjectKey& place = options_.place;
  PACELINE_ASSIGN_OR_RETURN(std::string seed, seed_.Get());
  PACELINE_ASSIGN_OR_RETURN(Installation own,
                            MakeInstallation(place.name_space, place.name, std::move(seed)));
  KnownInstallations known{.with_seeds = {std::move(own)}, .adopted = options_.adopted};
  for (const std::string& secret : options_.adopted_seeds) {
    StatusOr<Installation> adopted = Adopted(secret);
    if (adopted.ok())
      known.with_seeds.push_back(*std::move(adopted));
    else
      *trouble = adopted.status();
  }
  return known;
}

StatusOr<Installation> Installations::Adopted(const std::string& secret) {
  const std::lock_guard lock(mutex_);
  if (const auto found = adopted_.find(secret); found != adopted_.end()) return found->second;
  const auto now = std::chrono::steady_clock::now();
  if (const auto failed = failed_.find(secret);
      failed != failed_.end() && now < failed->second.until)
    return failed->second.why;
  const std::string& name_space = options_.place.name_space;
  StatusOr<std::string> seed = ReadSeed(*client_, {name_space, secret});
  if (!seed.ok()) {
    failed_[secret] = {.why = seed.status(), .until = now + kFailurePause};
    return seed.status();
  }
  PACELINE_ASSIGN_OR_RETURN(Installation adopted,
                            MakeInstallation(name_space, secret, *std::move(seed)));
  return adopted_[secret] = std::move(adopted);
}

std::string Installations::place() const {
  return fmt::format("{}/{}", options_.place.name_space, options_.place.name);
}

}  // namespace paceline::controller
