#include "lib/tls/derived_secret.h"

#include <array>
#include <span>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include "lib/tls/derive.h"

namespace paceline::tls {
namespace {

std::string Hexadecimal(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

StatusOr<std::string> DeriveSecret(const std::string& seed, const std::string& purpose) {
  std::array<unsigned char, 32> bytes{};
  PACELINE_RETURN_IF_ERROR(DeriveBytes(seed, purpose, bytes));
  std::string secret = Hexadecimal(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return secret;
}

std::string Authenticate(const std::string& secret, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
           &size) == nullptr) {
    return "";
  }
  return Hexadecimal(std::span(digest).first(size));
}

bool AreSameSecrets(const std::string& one, const std::string& other) {
  return !one.empty() && one.size() == other.size() &&
         CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace paceline::tls
