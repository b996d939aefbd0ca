#include "lib/tls/derive.h"

#include <array>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/kdf.h>
#include <openssl/param_build.h>

#include "lib/tls/issue.h"

namespace paceline::tls {
namespace {

using Kdf = std::unique_ptr<EVP_KDF, Freed<EVP_KDF_free>>;
using KdfContext = std::unique_ptr<EVP_KDF_CTX, Freed<EVP_KDF_CTX_free>>;
using Group = std::unique_ptr<EC_GROUP, Freed<EC_GROUP_free>>;
using Point = std::unique_ptr<EC_POINT, Freed<EC_POINT_free>>;
using Numbers = std::unique_ptr<BN_CTX, Freed<BN_CTX_free>>;
using ParameterBuilder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;

constexpr size_t kWideBytes = 48;   // 128 bits more than the order has: what FIPS 186-5 asks for.
constexpr size_t kPointBytes = 65;  // Uncompressed.

bool Expand(const std::string& seed, const std::string& purpose, std::span<unsigned char> wide) {
  const Kdf kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const KdfContext context(EVP_KDF_CTX_new(kdf.get()));
  if (context == nullptr) return false;
  std::string digest = "SHA256", key = seed, info = purpose;
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  return EVP_KDF_derive(context.get(), wide.data(), wide.size(), parameters) == 1;
}

// Wide modulo (order - 1), plus 1.
BigNumber Scalar(const std::array<unsigned char, kWideBytes>& wide, const EC_GROUP* group,
                 BN_CTX* numbers) {
  BigNumber scalar(BN_bin2bn(wide.data(), static_cast<int>(wide.size()), nullptr));
  const BigNumber below(BN_dup(EC_GROUP_get0_order(group)));
  if (scalar == nullptr || below == nullptr) return nullptr;
  BN_set_flags(scalar.get(), BN_FLG_CONSTTIME);
  const bool is_made = BN_sub_word(below.get(), 1) == 1 &&
                       BN_mod(scalar.get(), scalar.get(), below.get(), numbers) == 1 &&
                       BN_add_word(scalar.get(), 1) == 1;
  return is_made ? std::move(scalar) : nullptr;
}

// All zeros, which are no point, if OpenSSL cannot.
std::array<unsigned char, kPointBytes> PublicPoint(const BIGNUM* scalar, const EC_GROUP* group,
                                                   BN_CTX* numbers) {
  std::array<unsigned char, kPointBytes> encoded{};
  const Point point(EC_POINT_new(group));
  const bool is_made =
      point != nullptr &&
      EC_POINT_mul(group, point.get(), scalar, nullptr, nullptr, numbers) == 1 &&
      EC_POINT_point2oct(group, point.get(), POINT_CONVERSION_UNCOMPRESSED, encoded.data(),
                         encoded.size(), numbers) == encoded.size();
  return is_made ? encoded : std::array<unsigned char, kPointBytes>{};
}

// Null if the halves are no key.
Key Assemble(const BIGNUM* scalar, const std::array<unsigned char, kPointBytes>& point) {
  const ParameterBuilder builder(OSSL_PARAM_BLD_new());
  const bool is_told =
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) == 1 &&
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, scalar) == 1 &&
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) == 1;
  const Parameters parameters(is_told ? OSSL_PARAM_BLD_to_param(builder.get()) : nullptr);
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY* key = nullptr;
  if (parameters != nullptr && context != nullptr && EVP_PKEY_fromdata_init(context.get()) == 1)
    EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, parameters.get());
  return Key(key);
}

}  // namespace

Status DeriveBytes(const std::string& seed, const std::string& purpose,
                   std::span<unsigned char> bytes) {
  if (seed.size() < kSeedBytesMin) {
    return InvalidArgument("seed of an authority has {} bytes, want at least {}", seed.size(),
                           kSeedBytesMin);
  }
  return Expand(seed, purpose, bytes) ? OkStatus() : OpenSslError("cannot derive a secret");
}

StatusOr<Key> DeriveKey(const std::string& seed, const std::string& purpose) {
  std::array<unsigned char, kWideBytes> wide{};
  PACELINE_RETURN_IF_ERROR(DeriveBytes(seed, purpose, wide));
  const Group group(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  const Numbers numbers(BN_CTX_secure_new());
  if (group == nullptr || numbers == nullptr) return OpenSslError("cannot derive a key");
  const BigNumber scalar = Scalar(wide, group.get(), numbers.get());
  OPENSSL_cleanse(wide.data(), wide.size());
  Key key = scalar == nullptr
                ? nullptr
                : Assemble(scalar.get(), PublicPoint(scalar.get(), group.get(), numbers.get()));
  if (key == nullptr) return OpenSslError("cannot derive a key");
  return key;
}

}  // namespace paceline::tls
