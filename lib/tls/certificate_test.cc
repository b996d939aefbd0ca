#include "lib/tls/certificate.h"

#include "lib/tls/testing.h"

namespace paceline::tls {
namespace {

using testing::Authority;
using testing::Day;
using testing::Issued;

TEST(ReadCertificate, SaysWhatAnIssuedOneNames) {
  const Credential authority = Authority("job digits");
  const auto read = ReadCertificate(
      Issued(authority, {"worker.digits.default", "worker.digits.other"}).certificate);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->subject, "CN=paceline");
  EXPECT_EQ(read->issuer, "CN=job digits");
  EXPECT_EQ(read->dns_names,
            (std::vector<std::string>{"worker.digits.default", "worker.digits.other"}));
  EXPECT_EQ(read->validity.not_before, Day(10));
  EXPECT_EQ(read->validity.not_after, Day(20));
  EXPECT_FALSE(read->is_authority);
}

TEST(ReadCertificate, SaysThatAnAuthorityIsOne) {
  const auto read = ReadCertificate(Authority("job digits").certificate);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->is_authority);
  EXPECT_EQ(read->subject, read->issuer);
  EXPECT_TRUE(read->dns_names.empty());
}

TEST(ReadCertificate, KeepsTimesBeyond2049) {
  // Where the encoding of times changes.
  const CalendarTime end = std::chrono::sys_days(std::chrono::year(2077) / 6 / 30);
  const auto authority = MakeAuthority("long", {Day(0), end});
  ASSERT_TRUE(authority.ok()) << authority.status();
  EXPECT_EQ(ReadCertificate(authority->certificate)->validity.not_after, end);
}

TEST(ReadCertificate, RefusesWhatIsNone) {
  for (const std::string text :
       {"", "not a certificate",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}) {
    const auto read = ReadCertificate(text);
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument) << text;
  }
  const Credential whole = Authority();
  const std::string torn = whole.certificate.substr(0, whole.certificate.size() / 2);
  EXPECT_EQ(ReadCertificate(torn).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadCertificate(whole.key).status().code(), StatusCode::kInvalidArgument);
}

TEST(NeedsRenewal, OnceTheFractionIsOver) {
  const Validity validity{Day(10), Day(40)};
  const double two_thirds = 2.0 / 3;
  EXPECT_FALSE(NeedsRenewal(validity, Day(10), two_thirds));
  EXPECT_FALSE(NeedsRenewal(validity, Day(30) - std::chrono::seconds(1), two_thirds));
  EXPECT_TRUE(NeedsRenewal(validity, Day(30), two_thirds));
  EXPECT_TRUE(NeedsRenewal(validity, Day(100), two_thirds));
}

TEST(NeedsRenewal, BeforeItBegins) { EXPECT_TRUE(NeedsRenewal({Day(10), Day(40)}, Day(9), 0.5)); }

}  // namespace
}  // namespace paceline::tls
