#include "lib/tls/verify.h"

#include <gmock/gmock.h>

#include "lib/tls/testing.h"

namespace paceline::tls {
namespace {

using testing::Authority;
using testing::Day;
using ::testing::HasSubstr;
using testing::Issued;

TEST(VerifyCertificate, TakesWhatItsAuthorityVouchesFor) {
  const Credential authority = Authority();
  const Credential leaf = Issued(authority, {"ps.digits.default"});
  const Status status =
      VerifyCertificate(leaf.certificate, authority.certificate, "ps.digits.default", Day(15));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(VerifyCertificate, TakesAnyOfSeveralAuthorities) {
  // As while an authority is being replaced; both have the same name.
  const Credential old_authority = Authority();
  const Credential new_authority = Authority();
  const std::string both = old_authority.certificate + new_authority.certificate;
  for (const Credential* const authority : {&old_authority, &new_authority}) {
    const Status status =
        VerifyCertificate(Issued(*authority, {"a.b"}).certificate, both, "a.b", Day(15));
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(VerifyCertificate, SaysWhyItRefuses) {
  const Credential authority = Authority();
  const std::string leaf = Issued(authority, {"ps.digits.default"}).certificate;
  struct Case {
    std::string leaf;
    std::string authority;
    std::string name;
    CalendarTime now;
    std::string reason;
  };
  const Case cases[] = {
      {leaf, authority.certificate, "ps.digits.default", Day(21), "certificate has expired"},
      {leaf, authority.certificate, "ps.digits.default", Day(9), "certificate is not yet valid"},
      {leaf, authority.certificate, "worker.digits.default", Day(15),
       "certificate does not name worker.digits.default"},
      {leaf, authority.certificate, "digits.default", Day(15), "does not name digits.default"},
      {leaf, Authority().certificate, "ps.digits.default", Day(15), "certificate is refused: "},
      {leaf, leaf, "ps.digits.default", Day(15), "certificate is refused: "},
      {authority.certificate, authority.certificate, "ps.digits.default", Day(15), "does not name"},
  };
  for (const Case& one : cases) {
    const Status status = VerifyCertificate(one.leaf, one.authority, one.name, one.now);
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << one.reason;
    EXPECT_THAT(Message(status), HasSubstr(one.reason));
  }
}

TEST(VerifyCertificate, ALeafSignsNothing) {
  const Credential authority = Authority();
  const Credential leaf = Issued(authority, {"a.b"});
  const Credential forged = Issued(leaf, {"ps.digits.default"});
  const Status status = VerifyCertificate(forged.certificate + leaf.certificate,
                                          authority.certificate, "ps.digits.default", Day(15));
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
}

TEST(CheckCredential, TakesAPair) {
  const Credential authority = Authority();
  EXPECT_TRUE(CheckCredential(authority).ok());
  EXPECT_TRUE(CheckCredential(Issued(authority, {"a"})).ok());
  EXPECT_EQ(CheckCredential({authority.certificate, "no key"}).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paceline::tls
