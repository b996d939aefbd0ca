#include "cli/local/private_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace paceline::local {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class PrivateFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/places-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override {
    std::filesystem::remove_all(root_);
    for (const auto& [name, value] : before_) {
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    }
  }

  std::string Place(const std::string& name) {
    std::filesystem::create_directories(root_ + "/" + name);
    return root_ + "/" + name;
  }
  void Set(const std::string& name, const char* value) {
    const char* const old = std::getenv(name.c_str());
    before_.emplace(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    value == nullptr ? unsetenv(name.c_str()) : setenv(name.c_str(), value, 1);
  }

  std::string root_;
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(PrivateFolderTest, TheFirstPlaceIsTakenWithoutAWord) {
  const std::string place = Place("first");
  const auto made = MakePrivateFolder({place, Place("second")});
  ASSERT_TRUE(made.ok()) << Message(made.status());
  EXPECT_THAT(made->path, StartsWith(place + "/paceline-"));
  EXPECT_EQ(made->passed, "");
  EXPECT_EQ(std::filesystem::status(made->path).permissions(), std::filesystem::perms::owner_all);
  EXPECT_TRUE(std::filesystem::is_empty(made->path));
}

TEST_F(PrivateFolderTest, AnyPlaceThatIsNoneIsPassedAndNamed) {
  const std::string good = Place("good");
  const std::string deep = Place(std::string(60, 'a') + "/" + std::string(60, 'b'));
  std::ofstream(root_ + "/file").put('x');
  const std::vector<std::pair<std::string, std::string>> passed = {
      {deep, "has 140 characters, want at most 70"},
      {root_ + "/nowhere/at/all", "No such file"},
      {root_ + "/file", "Not a directory"},
      {Place("run#1"), "cannot stand in the address"},
      {Place("100%25"), "cannot stand in the address"},
      {Place("what?"), "cannot stand in the address"},
      {Place("with blank"), "cannot stand in the address"},
      {Place("\xff\xfe"), "cannot stand in the address"},
      {Place("a:b"), "cannot stand in the address"},
  };
  for (const auto& [place, why] : passed) {
    const auto made = MakePrivateFolder({place, good});
    ASSERT_TRUE(made.ok()) << Message(made.status());
    EXPECT_THAT(made->path, StartsWith(good + "/paceline-"));
    EXPECT_THAT(made->passed, AllOf(StartsWith(place), HasSubstr(why)));
  }
}

TEST_F(PrivateFolderTest, WhereNoneWillDoAllAreNamedAndTheWayOut) {
  const auto made = MakePrivateFolder({root_ + "/nowhere", std::string(71, 'a')});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(Message(made.status()),
              AllOf(HasSubstr(root_ + "/nowhere No such file"), HasSubstr("want at most 70"),
                    HasSubstr("Set TMPDIR to a folder that you may write to")));
  EXPECT_TRUE(std::filesystem::is_empty(root_));
}

TEST_F(PrivateFolderTest, TheLongestPlaceHoldsTheLongestSocket) {
  const std::string place = Place(std::string(kPlaceBytesMax - root_.size() - 1, 'p'));
  ASSERT_EQ(place.size(), kPlaceBytesMax);
  const auto made = MakePrivateFolder({place});
  ASSERT_TRUE(made.ok()) << Message(made.status());
  const std::string path = made->path + "/ps-9999.sock.memory";
  sockaddr_un name{.sun_family = AF_UNIX};
  ASSERT_LT(path.size(), sizeof(name.sun_path));
  path.copy(name.sun_path, path.size());
  const int bound = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::bind(bound, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  close(bound);
}

TEST_F(PrivateFolderTest, ARelativePlaceIsMadeAbsolute) {
  const std::string before = std::filesystem::current_path();
  Place("here");
  std::filesystem::current_path(root_);
  const auto made = MakePrivateFolder({"here"});
  std::filesystem::current_path(before);
  ASSERT_TRUE(made.ok()) << Message(made.status());
  EXPECT_THAT(made->path, StartsWith(root_ + "/here/paceline-"));
}

TEST_F(PrivateFolderTest, PlacesAreTheEnvironmentsAndThenTheSystems) {
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR", "XDG_RUNTIME_DIR"})
    Set(name, nullptr);
  EXPECT_THAT(PrivatePlaces(), ElementsAre("/tmp", "/dev/shm"));
  Set("TEMP", "/scratch");
  Set("TMPDIR", "");
  Set("XDG_RUNTIME_DIR", "/run/user/7");
  EXPECT_THAT(PrivatePlaces(), ElementsAre("/scratch", "/tmp", "/run/user/7", "/dev/shm"));
  Set("TMPDIR", "/scratch/job");
  EXPECT_THAT(PrivatePlaces(), ElementsAre("/scratch/job", "/tmp", "/run/user/7", "/dev/shm"));
}

}  // namespace
}  // namespace paceline::local
