#include "operator/objects/secrets.h"

#include "lib/base/base64.h"

namespace paceline::controller {
namespace {

constexpr const char* kCertificateKey = "tls.crt";
constexpr const char* kPrivateKey = "tls.key";
constexpr const char* kAuthorityKey = "ca.crt";

// Never through stringData: what was written is then what is read.
Json Secret(const job::TrainingJob& job, const std::string& name, const Json& texts) {
  Json data = Json::object();
  for (const auto& [key, text] : texts.items()) data[key] = EncodeBase64(text.get<std::string>());
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"type", "kubernetes.io/tls"},
          {"metadata", ChildMetadata(job, name, JobLabels(job))},
          {"data", std::move(data)}};
}

std::string Decoded(const Json& data, const char* key) {
  if (!data.contains(key) || !data[key].is_string()) return "";
  return DecodeBase64(data[key].get<std::string>()).value_or("");
}

}  // namespace

Json BuildTlsSecret(const job::TrainingJob& job, TlsRole role, const tls::Credential& credential,
                    const std::string& authority_certificate) {
  return Secret(job, TlsSecretName(job, role),
                {{kCertificateKey, credential.certificate},
                 {kPrivateKey, credential.key},
                 {kAuthorityKey, authority_certificate}});
}

std::optional<ReadSecret> ReadTlsSecret(const job::TrainingJob& job, const Json& secret) {
  if (!IsControlledBy(secret, job.metadata.uid.value_or("")) || !secret.contains("data"))
    return std::nullopt;
  const Json& data = secret["data"];
  ReadSecret read{.credential = {.certificate = Decoded(data, kCertificateKey),
                                 .key = Decoded(data, kPrivateKey)},
                  .authority_certificate = Decoded(data, kAuthorityKey)};
  if (read.credential.certificate.empty() || read.credential.key.empty()) return std::nullopt;
  return read;
}

}  // namespace paceline::controller
