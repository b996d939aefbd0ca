#include "operator/objects/installation.h"

#include <utility>

#include <fmt/format.h>

#include "lib/tls/derived_secret.h"

namespace paceline::controller {

StatusOr<Installation> MakeInstallation(const std::string& name_space, const std::string& name,
                                        std::string seed) {
  PACELINE_ASSIGN_OR_RETURN(const std::string digits, tls::DeriveSecret(seed, "installation"));
  return Installation{.id = fmt::format("{}/{}/{}", name_space, name, digits.substr(0, 16)),
                      .seed = std::move(seed)};
}

std::string PlaceOfInstallation(const std::string& id) {
  const size_t slash = id.rfind('/');
  return slash == std::string::npos ? "" : id.substr(0, slash);
}

std::string FingerprintIn(const std::string& id) {
  const size_t slash = id.rfind('/');
  return slash == std::string::npos ? "" : id.substr(slash + 1);
}

}  // namespace paceline::controller
