#include "lib/tls/derived_secret.h"

#include <gtest/gtest.h>

namespace paceline::tls {
namespace {

const std::string kSeed(32, 's');

TEST(DerivedSecret, SeedAndPurposeDetermineIt) {
  const auto one = DeriveSecret(kSeed, "token/1");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->size(), 64u);
  EXPECT_EQ(one->find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(DeriveSecret(kSeed, "token/1").value_or(""), *one);
  EXPECT_NE(DeriveSecret(kSeed, "token/2").value_or(""), *one);
  EXPECT_NE(DeriveSecret(std::string(32, 't'), "token/1").value_or(""), *one);
  EXPECT_EQ(DeriveSecret(std::string(31, 's'), "token/1").status().code(),
            StatusCode::kInvalidArgument);
}

// RFC 4231, test cases 2 and 3.
TEST(DerivedSecret, AuthenticateIsHmac) {
  EXPECT_EQ(Authenticate("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(Authenticate(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
}

TEST(DerivedSecret, NothingIsTheSameAsNoSecret) {
  EXPECT_TRUE(AreSameSecrets("abc", "abc"));
  for (const auto& [one, other] :
       {std::pair("abc", "abd"), std::pair("abc", "ab"), std::pair("", ""), std::pair("abc", "")})
    EXPECT_FALSE(AreSameSecrets(one, other)) << one;
}

}  // namespace
}  // namespace paceline::tls
