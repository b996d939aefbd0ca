#include "lib/tls/derive.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <openssl/core_names.h>

#include "lib/tls/certificate.h"
#include "lib/tls/issue.h"
#include "lib/tls/testing.h"
#include "lib/tls/verify.h"

namespace paceline::tls {
namespace {

using testing::Day;
using testing::kWholeYear;

std::string Seed(char first) {
  std::string seed(kSeedBytesMin, '\0');
  for (size_t at = 0; at < seed.size(); ++at) seed[at] = static_cast<char>(first + at);
  return seed;
}

std::string Hex(const EVP_PKEY* key, const char* parameter) {
  BIGNUM* number = nullptr;
  EXPECT_EQ(EVP_PKEY_get_bn_param(key, parameter, &number), 1);
  const BigNumber owned(number);
  char* const text = BN_bn2hex(number);
  std::string hex = text;
  OPENSSL_free(text);
  return hex;
}

Issuer Derived(const std::string& seed, const std::string& purpose) {
  auto issuer = Issuer::Derive(seed, purpose, "job digits", kWholeYear);
  EXPECT_TRUE(issuer.ok()) << issuer.status();
  return *std::move(issuer);
}

TEST(DeriveKey, IsWhatTheFormulaSays) {
  // Computed with Python's hmac and integers: HKDF-SHA256(00..1f, info "job 7c4f", 48 bytes) as a
  // number, modulo (order of P-256 - 1), plus 1; and that times the base point.
  const auto key = DeriveKey(Seed(0), "job 7c4f");
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(Hex(key->get(), OSSL_PKEY_PARAM_PRIV_KEY),
            "E5CFAEAAE9E420A030A16D7AAB79F32A69AD9663D952A6F693B96B51C7C390B5");
  EXPECT_EQ(Hex(key->get(), OSSL_PKEY_PARAM_EC_PUB_X),
            "C6CE819E1D8E82BB8AB9B01AB71F6963BEB0A3A671B0AD8C301BDF1CD5A87A6F");
}

TEST(DeriveKey, RefusesASeedThatIsTooShort) {
  const auto key = DeriveKey(std::string(kSeedBytesMin - 1, 's'), "job");
  EXPECT_EQ(key.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(key.status()), "seed of an authority has 31 bytes, want at least 32");
}

TEST(DerivedIssuer, VouchesForWhatItsTwinHasIssued) {
  const Issuer one = Derived(Seed(1), "job"), twin = Derived(Seed(1), "job");
  EXPECT_TRUE(AreSameAuthority(one.certificate(), twin.certificate()));
  const auto issued = one.Issue({"ps.digits.default"}, {Day(10), Day(20)});
  ASSERT_TRUE(issued.ok()) << issued.status();
  EXPECT_TRUE(CheckCredential(*issued).ok());
  const Status verified =
      VerifyCertificate(issued->certificate, twin.certificate(), "ps.digits.default", Day(15));
  EXPECT_TRUE(verified.ok()) << verified;
}

TEST(DerivedIssuer, IsAnotherForAnotherSeedOrPurpose) {
  const Issuer one = Derived(Seed(1), "job");
  const auto issued = one.Issue({"ps.digits.default"}, {Day(10), Day(20)});
  ASSERT_TRUE(issued.ok()) << issued.status();
  for (const Issuer& other : {Derived(Seed(2), "job"), Derived(Seed(1), "another job")}) {
    EXPECT_FALSE(AreSameAuthority(one.certificate(), other.certificate()));
    EXPECT_EQ(
        VerifyCertificate(issued->certificate, other.certificate(), "ps.digits.default", Day(15))
            .code(),
        StatusCode::kPermissionDenied);
  }
}

TEST(DerivedIssuer, HasACredentialThatIsAPair) {
  const auto credential = Derived(Seed(1), "job").credential();
  ASSERT_TRUE(credential.ok()) << credential.status();
  EXPECT_TRUE(CheckCredential(*credential).ok());
}

TEST(AreSameAuthority, IsFalseForAnotherNameForMoreThanOneAndForNonsense) {
  const std::string one = Derived(Seed(1), "job").certificate();
  const auto renamed = Issuer::Derive(Seed(1), "job", "job letters", kWholeYear);
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  EXPECT_TRUE(AreSameAuthority(one, one));
  EXPECT_FALSE(AreSameAuthority(one, renamed->certificate()));
  EXPECT_FALSE(AreSameAuthority(one, one + one));
  EXPECT_FALSE(AreSameAuthority(one, ""));
  EXPECT_FALSE(AreSameAuthority("nonsense", one));
}

}  // namespace
}  // namespace paceline::tls
