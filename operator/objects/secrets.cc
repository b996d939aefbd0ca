#include "operator/objects/secrets.h"

#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "lib/base/base64.h"
#include "lib/base/json_text.h"
#include "lib/kube/core/json.h"
#include "lib/tls/derived_secret.h"

namespace paceline::controller {
namespace {

constexpr const char* kAuthorityKey = "ca.crt";

std::string CertificateKey(uint64_t index) { return fmt::format("{}.crt", index); }
std::string PrivateKey(uint64_t index) { return fmt::format("{}.key", index); }

// Never through stringData: what was written is then what is read.
Json Secret(const job::TrainingJob& job, const std::string& name, Json data) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"type", "Opaque"},
          {"metadata", ChildMetadata(job, name, JobLabels(job))},
          {"data", std::move(data)}};
}

std::string Decoded(const Json& data, const std::string& key) {
  if (!data.contains(key) || !data[key].is_string()) return "";
  return DecodeBase64(data[key].get<std::string>()).value_or("");
}

std::string SealOf(const job::TrainingJob& job, const std::string& name,
                   const std::string& renew_at, const Json& data, const std::string& seal) {
  return tls::Authenticate(seal, fmt::format("{}\n{}\n{}\n{}", job.metadata.uid.value_or(""), name,
                                             renew_at, JsonText(data)));
}

std::optional<Time> ParseTime(const std::string& text) {
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Time(std::chrono::seconds(seconds));
}

std::string Annotation(const Json& object, std::string_view name) {
  const Json* const annotations = kube::Find(object, "/metadata/annotations");
  const std::string key(name);
  if (annotations == nullptr || !annotations->contains(key) || !(*annotations)[key].is_string())
    return "";
  return (*annotations)[key].get<std::string>();
}

}  // namespace

StatusOr<std::string> SealFrom(const std::string& seed, const job::TrainingJob& job) {
  return tls::DeriveSecret(seed, "seal/" + job.metadata.uid.value_or(""));
}

StatusOr<std::string> TokenFrom(const std::string& seed, const job::TrainingJob& job) {
  return tls::DeriveSecret(seed, "token/" + job.metadata.uid.value_or(""));
}

Json BuildTlsSecret(const job::TrainingJob& job, const TlsBlock& block, const IssuedBlock& issued,
                    const std::string& authority_certificate, const std::string& seal) {
  const std::string name = TlsSecretName(job, block.role, block.number, block.group);
  Json data = {{kAuthorityKey, EncodeBase64(authority_certificate)}};
  uint64_t index = block.first();
  for (const tls::Credential& credential : issued.credentials) {
    data[CertificateKey(index)] = EncodeBase64(credential.certificate);
    data[PrivateKey(index)] = EncodeBase64(credential.key);
    ++index;
  }
  const std::string renew_at = std::to_string(
      std::chrono::floor<std::chrono::seconds>(issued.renew_at.time_since_epoch()).count());
  std::string proof = SealOf(job, name, renew_at, data, seal);
  Json secret = Secret(job, name, std::move(data));
  secret["metadata"]["annotations"] = {{std::string(kRenewAnnotation), renew_at},
                                       {std::string(kSealAnnotation), std::move(proof)}};
  return secret;
}

Json TlsItems(uint64_t index) {
  return Json::array({{{"key", CertificateKey(index)}, {"path", "tls.crt"}},
                      {{"key", PrivateKey(index)}, {"path", "tls.key"}},
                      {{"key", kAuthorityKey}, {"path", "ca.crt"}}});
}

std::optional<IssuedBlock> ReadTlsSecret(const job::TrainingJob& job, const TlsBlock& block,
                                         const Json& secret, const std::string& seal) {
  if (!IsControlledBy(secret, job.metadata.uid.value_or("")) || !secret.contains("data"))
    return std::nullopt;
  const Json& data = secret["data"];
  const std::string renew_at = Annotation(secret, kRenewAnnotation);
  const std::optional<Time> time = ParseTime(renew_at);
  if (!time ||
      !tls::AreSameSecrets(Annotation(secret, kSealAnnotation),
                           SealOf(job, TlsSecretName(job, block.role, block.number, block.group),
                                  renew_at, data, seal))) {
    return std::nullopt;
  }
  IssuedBlock issued{.credentials = {}, .renew_at = *time};
  for (uint64_t index = block.first();; ++index) {
    tls::Credential credential{.certificate = Decoded(data, CertificateKey(index)),
                               .key = Decoded(data, PrivateKey(index))};
    if (credential.certificate.empty() || credential.key.empty()) return issued;
    issued.credentials.push_back(std::move(credential));
  }
}

Json BuildTokenSecret(const job::TrainingJob& job, const std::string& token) {
  return Secret(job, TokenSecretName(job), {{std::string(kTokenKey), EncodeBase64(token)}});
}

std::string ReadTokenSecret(const job::TrainingJob& job, const Json& secret) {
  if (!IsControlledBy(secret, job.metadata.uid.value_or("")) || !secret.contains("data")) return "";
  return Decoded(secret["data"], std::string(kTokenKey));
}

}  // namespace paceline::controller
