#include "lib/tls/issue.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "lib/tls/certificate.h"
#include "lib/tls/identity.h"
#include "lib/tls/testing.h"
#include "lib/tls/verify.h"

namespace paceline::tls {
namespace {

using testing::Authority;
using testing::Day;
using ::testing::HasSubstr;
using testing::Issued;
using testing::kWholeYear;

class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "paceline-tls-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

struct Ran {
  int code;
  std::string output;
};

Ran RunShell(const std::string& command) {
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const size_t size = std::fread(buffer, 1, sizeof buffer, pipe))
    output.append(buffer, size);
  return {WEXITSTATUS(pclose(pipe)), output};
}

TEST(IssueCertificate, OpensslProgramAgrees) {
  const Folder folder;
  const Credential authority = Authority("job digits");
  const Credential other = Authority("another job");
  const std::string name = NameOf({Role::kWorker, 3}, "digits", "default");
  const std::string ca = folder.Write("ca.crt", authority.certificate);
  const std::string wrong_ca = folder.Write("wrong.crt", other.certificate);
  const std::string leaf = folder.Write("tls.crt", Issued(authority, {name}).certificate);
  const auto verify = [&](const std::string& root, CalendarTime at, const std::string& host,
                          const std::string& purpose) {
    return RunShell(fmt::format(
        "openssl verify -x509_strict -no-CApath -no-CAstore -CAfile {} -attime {} -verify_hostname "
        "{} -purpose {} {}",
        root, at.time_since_epoch().count(), host, purpose, leaf));
  };
  for (const std::string purpose : {"sslserver", "sslclient"}) {
    const Ran good = verify(ca, Day(15), name, purpose);
    EXPECT_EQ(good.code, 0) << good.output;
  }
  const Ran wrong_name = verify(ca, Day(15), "ps.digits.default", "sslserver");
  EXPECT_NE(wrong_name.code, 0);
  EXPECT_THAT(wrong_name.output, HasSubstr("ostname mismatch"));
  const Ran expired = verify(ca, Day(21), name, "sslserver");
  EXPECT_NE(expired.code, 0);
  EXPECT_THAT(expired.output, HasSubstr("expired"));
  EXPECT_NE(verify(ca, Day(9), name, "sslserver").code, 0);
  EXPECT_NE(verify(wrong_ca, Day(15), name, "sslserver").code, 0);
}

TEST(IssueCertificate, OpensslProgramShowsWhatWeWrote) {
  const Folder folder;
  const std::string leaf =
      folder.Write("tls.crt", Issued(Authority(), {"ps.digits.default"}).certificate);
  const Ran shown = RunShell("openssl x509 -noout -text -in " + leaf);
  EXPECT_EQ(shown.code, 0) << shown.output;
  for (const char* const part :
       {"prime256v1", "CA:FALSE", "Digital Signature", "TLS Web Server Authentication",
        "TLS Web Client Authentication", "DNS:ps.digits.default", "ecdsa-with-SHA256"}) {
    EXPECT_THAT(shown.output, HasSubstr(part));
  }
}

TEST(IssueCertificate, EveryOneHasItsOwnKeyAndSerial) {
  const Credential authority = Authority();
  const Credential one = Issued(authority, {"a.b.c"});
  const Credential two = Issued(authority, {"a.b.c"});
  EXPECT_NE(one.key, two.key);
  EXPECT_NE(one.certificate, two.certificate);
}

TEST(IssueCertificate, LongestNamesOfAJobFit) {
  const std::string name =
      NameOf({Role::kEvaluator, 0}, std::string(63, 'j'), std::string(63, 'n'));
  const Credential issued = Issued(Authority(), {name});
  EXPECT_EQ(ReadCertificate(issued.certificate)->dns_names, std::vector<std::string>{name});
}

TEST(IssueCertificate, RefusesWhatIsNoDnsName) {
  const Credential authority = Authority();
  for (const std::string& name :
       std::vector<std::string>{"", ".", "a..b", "a.", ".a", "-a", "a-", "A", "a b", "a,DNS:b",
                                "*.a", "a_b", std::string(64, 'a')}) {
    const auto issued = IssueCertificate(authority, {name}, {Day(1), Day(2)});
    EXPECT_EQ(issued.status().code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(IssueCertificate(authority, {}, {Day(1), Day(2)}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(IssueCertificate, RefusesToOutliveItsAuthority) {
  const auto issued = IssueCertificate(Authority(), {"a"}, {Day(1), Day(366)});
  EXPECT_EQ(Message(issued.status()),
            "certificate would outlive its authority: until 2031-01-02T00:00:00Z, want at most "
            "2031-01-01T00:00:00Z");
}

TEST(IssueCertificate, RefusesHalvesThatAreNoPair) {
  Credential mixed = Authority();
  mixed.key = Authority().key;
  const auto issued = IssueCertificate(mixed, {"a"}, {Day(1), Day(2)});
  EXPECT_EQ(issued.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(issued.status()), HasSubstr("authority's key and certificate are no pair"));
  EXPECT_EQ(CheckCredential(mixed).code(), StatusCode::kInvalidArgument);
}

TEST(MakeAuthority, RefusesLengthsAndTimesThatMakeNoSense) {
  EXPECT_EQ(MakeAuthority("", kWholeYear).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeAuthority(std::string(65, 'a'), kWholeYear).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(MakeAuthority(std::string(64, 'a'), kWholeYear).ok());
  EXPECT_EQ(MakeAuthority("a", {Day(1), Day(1)}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paceline::tls
