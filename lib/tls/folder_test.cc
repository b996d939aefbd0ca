#include "lib/tls/folder.h"

#include <gmock/gmock.h>

#include "lib/tls/testing.h"

namespace paceline::tls {
namespace {

using testing::Authority;
using ::testing::HasSubstr;
using testing::Issued;
using testing::IssuedFolder;
using testing::kNow;

TEST(ReadTlsFolder, GivesAllThree) {
  const Credential authority = Authority("ca", kNow);
  const IssuedFolder folder(authority, "a.b");
  const auto files = ReadTlsFolder(folder.folder());
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->authorities, authority.certificate);
  EXPECT_THAT(files->credential.key, HasSubstr("PRIVATE KEY"));
}

TEST(ReadTlsFolder, NamesTheFileThatIsMissing) {
  const Credential authority = Authority("ca", kNow);
  for (const std::string name : {"tls.crt", "tls.key", "ca.crt"}) {
    const IssuedFolder folder(authority, "a.b");
    std::filesystem::remove(folder.path() + "/" + name);
    const auto files = ReadTlsFolder(folder.folder());
    EXPECT_EQ(files.status().code(), StatusCode::kNotFound);
    EXPECT_THAT(Message(files.status()), HasSubstr("/" + name + ": No such file"));
  }
}

TEST(ReadTlsFolder, NamesTheFileThatIsWrong) {
  const Credential authority = Authority("ca", kNow);
  const Credential mine = Issued(authority, {"a.b"}, kNow);
  const Credential other = Issued(authority, {"a.b"}, kNow);
  const IssuedFolder folder;
  folder.Write({mine.certificate, other.key}, authority.certificate);
  EXPECT_THAT(Message(ReadTlsFolder(folder.folder()).status()),
              HasSubstr("/tls.key: key and certificate are no pair"));
  folder.Write({"", mine.key}, authority.certificate);
  EXPECT_THAT(Message(ReadTlsFolder(folder.folder()).status()),
              HasSubstr("/tls.crt: certificate cannot be read"));
  folder.Write(mine, "");
  EXPECT_THAT(Message(ReadTlsFolder(folder.folder()).status()),
              HasSubstr("/ca.crt: certificate cannot be read"));
}

}  // namespace
}  // namespace paceline::tls
