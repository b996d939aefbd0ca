#include "operator/controller/secrets/authority_seed.h"

#include <utility>

#include <fmt/format.h>

#include "lib/base/base64.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/core/json.h"
#include "lib/tls/issue.h"
#include "operator/controller/resources.h"
#include "operator/objects/names.h"

namespace paceline::controller {
namespace {

constexpr const char* kSecretName = "paceline-operator-authority";
constexpr const char* kSeedKey = "seed";

kube::Json BuildSecret(const kube::ObjectKey& key, const std::string& seed) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"type", "Opaque"},
          {"metadata",
           {{"name", key.name},
            {"namespace", key.name_space},
            {"labels",
             {{"app.kubernetes.io/name", "paceline"},
              {"app.kubernetes.io/component", "operator"},
              {std::string(kManagerLabel), kManager}}}}},
          {"data", {{kSeedKey, EncodeBase64(seed)}}}};
}

StatusOr<std::string> SeedIn(const kube::Json& secret) {
  std::string seed =
      DecodeBase64(kube::StringAt(secret, std::string("/data/") + kSeedKey)).value_or("");
  if (seed.size() >= tls::kSeedBytesMin) return seed;
  return FailedPrecondition("data.{} has {} bytes, want {} or more: put back what was there",
                            kSeedKey, seed.size(), tls::kSeedBytesMin);
}

Status Named(const Status& status, const kube::ObjectKey& key) {
  return Annotate(status, fmt::format("Secret {}, where all authorities come from", key));
}

}  // namespace

StatusOr<std::string> ReadSeed(kube::Client& client, const kube::ObjectKey& key) {
  const StatusOr<kube::Json> secret = client.Call(kube::Get(kube::Secrets(), key));
  if (!secret.ok()) return Named(secret.status(), key);
  StatusOr<std::string> seed = SeedIn(*secret);
  return seed.ok() ? seed : Named(seed.status(), key);
}

AuthoritySeed::AuthoritySeed(kube::Client* client, std::string name_space)
    : client_(client), key_{std::move(name_space), kSecretName} {}

StatusOr<std::string> AuthoritySeed::Get() {
  const std::lock_guard lock(mutex_);
  if (seed_) return *seed_;
  StatusOr<std::string> seed = ReadOrMake();
  if (!seed.ok()) return Named(seed.status(), key_);
  return *(seed_ = *std::move(seed));
}

// Created, never changed: of two operators that come at once the first one's counts.
StatusOr<std::string> AuthoritySeed::ReadOrMake() const {
  StatusOr<kube::Json> secret = client_->Call(kube::Get(kube::Secrets(), key_));
  if (IsNotFound(secret.status())) {
    PACELINE_ASSIGN_OR_RETURN(const std::string seed, tls::MakeSeed());
    const Status made =
        client_
            ->Call(kube::Create(kube::Secrets(), BuildSecret(key_, seed),
                                {.field_manager = kFieldManager, .answer = kube::Answer::kNothing}))
            .status();
    if (made.ok()) return seed;
    if (!IsAlreadyExists(made)) return made;
    secret = client_->Call(kube::Get(kube::Secrets(), key_));
  }
  PACELINE_RETURN_IF_ERROR(secret.status());
  return SeedIn(*secret);
}

}  // namespace paceline::controller
