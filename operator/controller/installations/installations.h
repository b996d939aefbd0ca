// Defines Installations: which installation of Paceline this operator is of, and whose jobs it
// adopts.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lib/kube/client/client.h"
#include "lib/kube/core/object_key.h"
#include "operator/controller/secrets/authority_seed.h"
#include "operator/objects/claim.h"

namespace paceline::controller {

struct InstallationOptions {
  kube::ObjectKey place;  // The operator's namespace, and the name of its Lease.
  // As KnownInstallations has it.
  std::vector<std::string> adopted = {};
  // Names of Secrets in that namespace, each with the seed of one that is gone.
  std::vector<std::string> adopted_seeds = {};
};

// Thread-safe; reads each Secret once, or, while it cannot be read, every ten seconds at most.
class Installations {
 public:
  // `client` outlives this.
  Installations(kube::Client* client, InstallationOptions options);

  // AuthoritySeed::Get's errors. An adopted seed that cannot be read is left out, and `trouble`
  // says why.
  StatusOr<KnownInstallations> Known(Status* trouble);
  // Known before the seed is: "paceline-system/paceline-operator".
  std::string place() const;

 private:
  StatusOr<Installation> Adopted(const std::string& secret);

  kube::Client* const client_;
  const InstallationOptions options_;
  AuthoritySeed seed_;
  std::mutex mutex_;
  std::map<std::string, Installation> adopted_;  // By their Secrets.
  struct Failure {
    Status why;
    std::chrono::steady_clock::time_point until;
  };
  std::map<std::string, Failure> failed_;  // Likewise.
};

}  // namespace paceline::controller
