// Defines AuthoritySeed: the one secret that every job's authority comes from.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "lib/kube/client/client.h"

namespace paceline::controller {

// What a Secret holds as a seed, of which none is made. NotFound; FailedPrecondition if it holds
// none; else the API server's refusal. All name the Secret.
StatusOr<std::string> ReadSeed(kube::Client& client, const kube::ObjectKey& key);

// Random bytes in a Secret of the operator's own namespace, made by the first operator that needs
// them. A job's authority is derived from them and the job's uid, so its key lies nowhere, and all
// operators, one after the other or by mistake side by side, have the same one (docs/adr/0020).
// Thread-safe; reads once.
class AuthoritySeed {
 public:
  // `client` outlives this.
  AuthoritySeed(kube::Client* client, std::string name_space);

  // FailedPrecondition if the Secret is there and holds no seed; else the API server's refusal.
  // Both name the Secret, and the next call asks again.
  StatusOr<std::string> Get();

 private:
  StatusOr<std::string> ReadOrMake() const;

  kube::Client* const client_;
  const kube::ObjectKey key_;
  std::mutex mutex_;
  std::optional<std::string> seed_;
};

}  // namespace paceline::controller
