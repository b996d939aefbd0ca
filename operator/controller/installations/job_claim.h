// Defines JobClaim: which installation of Paceline a job is of, as far as this operator knows.
#pragma once

#include <string>

namespace paceline::controller {

enum class Whose {
  kUnknown,  // It cannot be told, or something of a former job is where the claim would be.
  kOurs,
  kAnothers,  // It is left alone.
};

// Kept in its job's record; filled by JobClaims alone.
struct JobClaim {
  Whose whose = Whose::kUnknown;
  std::string installation;  // Whose it is; empty: not known.
  std::string seed;          // kOurs: what the job's certificates and token come from.
  std::string patched;       // kOurs: the version of the ConfigMap that this was written over.
  // Of a ConfigMap that says nothing: its version, and who made the job's Secrets.
  std::string unclaimed_version;
  std::string sealed_by;
};

}  // namespace paceline::controller
