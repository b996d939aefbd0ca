// Names an installation of Paceline: an operator, with its replicas and those that come after it.
#pragma once

#include <string>

#include "lib/base/status.h"

namespace paceline::controller {

// Whoever has its seed can speak as any process of its jobs.
struct Installation {
  // "paceline-system/paceline-operator/0a1b2c3d4e5f6071": where it is, and which seed it has.
  std::string id;
  std::string seed;
};

// `name`: that of its Lease, which no other one in the namespace has. The last part tells nothing
// of the seed. InvalidArgument as tls::DeriveSecret.
StatusOr<Installation> MakeInstallation(const std::string& name_space, const std::string& name,
                                        std::string seed);

// "paceline-system/paceline-operator"; empty of what is no id.
std::string PlaceOfInstallation(const std::string& id);
// "0a1b2c3d4e5f6071"; empty of what is no id.
std::string FingerprintIn(const std::string& id);

}  // namespace paceline::controller
