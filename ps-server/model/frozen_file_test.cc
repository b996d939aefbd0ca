#include "ps-server/model/frozen_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "lib/files/testing/walk_faults.h"
#include "lib/store/safetensors.h"

namespace paceline::ps {
namespace {

namespace fs = std::filesystem;
using protocol::FrozenAnswer;
using protocol::FrozenPart;
using protocol::FrozenState;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

constexpr const char* kBase = R"({"base": ["bfloat16 [200]", "1"]})";
constexpr const char* kOther = R"({"base": ["bfloat16 [200]", "2"]})";
constexpr const char* kMore = R"({"base": ["bfloat16 [200]", "1"], "head": ["uint8 [1]", "1"]})";

class FrozenFileTest : public ::testing::Test {
 protected:
  FrozenFileTest() {
    std::string pattern = ::testing::TempDir() + "frozen-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    const std::vector<std::byte> numbers(400, std::byte{7});
    const std::string path = folder_ + "/whole";
    EXPECT_TRUE(store::WriteSafetensors(path,
                                        {{.name = "base",
                                          .type = store::SafetensorsType::kBF16,
                                          .shape = {200},
                                          .bytes = numbers}},
                                        {{"of", "A"}, {"frozen", kBase}})
                    .ok());
    whole_ = BytesOf(path);
    fs::remove(path);
  }
  ~FrozenFileTest() override { fs::remove_all(folder_); }

  FrozenFile::Options Options() {
    return {.model = folder_ + "/model.safetensors", .now = [this] { return now_; }};
  }

  FrozenPart Part(const std::string& sender, uint64_t begin, uint64_t size,
                  const std::string& of = "A") const {
    FrozenPart part{.of = of, .sender = sender, .size = whole_.size(), .begin = begin};
    part.bytes.resize(size);
    if (size > 0) std::memcpy(part.bytes.data(), whole_.data() + begin, size);
    return part;
  }
  FrozenPart Ask(const std::string& sender, const std::string& of = "A",
                 const std::string& frozen = kBase) const {
    FrozenPart part = Part(sender, 0, 0, of);
    part.frozen = frozen;
    return part;
  }

  // All of it, in pieces. What was said at the end.
  FrozenAnswer Send(FrozenFile& file, const std::string& sender, const std::string& of = "A") {
    FrozenAnswer answer = file.Take(Ask(sender, of));
    while (answer.state == FrozenState::kWanted) {
      answer = file.Take(
          Part(sender, answer.begin, std::min<uint64_t>(100, whole_.size() - answer.begin), of));
    }
    return answer;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename());
    return names;
  }

  std::string folder_;
  std::string whole_;
  Time now_{};
};

TEST_F(FrozenFileTest, IsThereOnceAllOfItHasCome) {
  FrozenFile file(Options());
  EXPECT_THAT(file.path(), IsEmpty());
  EXPECT_EQ(file.Take(Ask("one")).state, FrozenState::kWanted);
  const FrozenAnswer half = file.Take(Part("one", 0, 100));
  EXPECT_EQ(half.state, FrozenState::kWanted);
  EXPECT_EQ(half.begin, 100u);
  EXPECT_THAT(file.path(), IsEmpty());
  EXPECT_EQ(Send(file, "one").state, FrozenState::kHeld) << "it goes on where it was";
  EXPECT_EQ(BytesOf(file.path()), whole_);
  EXPECT_EQ(file.bytes(), whole_.size());
  EXPECT_EQ(file.Take(Ask("two")).state, FrozenState::kHeld);
}

TEST_F(FrozenFileTest, ARepeatedOrStrangePieceChangesNothing) {
  FrozenFile file(Options());
  (void)file.Take(Ask("one"));
  (void)file.Take(Part("one", 0, 100));
  for (const FrozenPart& part : {Part("one", 0, 100), Part("one", 200, 50)})
    EXPECT_EQ(file.Take(part).begin, 100u);
  FrozenPart longer = Part("one", 100, whole_.size() - 100);
  longer.bytes.resize(whole_.size());
  EXPECT_EQ(file.Take(longer).begin, 100u);
  EXPECT_EQ(Send(file, "one").state, FrozenState::kHeld);
  EXPECT_EQ(BytesOf(file.path()), whole_);
}

TEST_F(FrozenFileTest, OthersWaitForWhoSendsAndTakeOverWhereItIsSilent) {
  FrozenFile file(Options());
  (void)file.Take(Ask("one"));
  (void)file.Take(Part("one", 0, 100));
  now_ += Seconds(29);
  EXPECT_EQ(file.Take(Ask("two")).state, FrozenState::kBusy);
  (void)file.Take(Part("one", 100, 50));
  now_ += Seconds(29);
  EXPECT_EQ(file.Take(Ask("two")).state, FrozenState::kBusy);
  now_ += Seconds(2);
  const FrozenAnswer answer = file.Take(Ask("two"));
  EXPECT_EQ(answer.state, FrozenState::kWanted);
  EXPECT_EQ(answer.begin, 0u);
  EXPECT_EQ(file.Take(Part("one", 150, 50)).state, FrozenState::kBusy) << "it had its turn";
  EXPECT_EQ(file.Take(Ask("one")).state, FrozenState::kBusy);
  EXPECT_EQ(Send(file, "two").state, FrozenState::kHeld);
  EXPECT_EQ(BytesOf(file.path()), whole_);
}

TEST_F(FrozenFileTest, LivesAsLongAsItsProcessAndALeftoverIsUsed) {
  std::string path;
  {
    FrozenFile file(Options());
    Send(file, "one");
    path = file.path();
    fs::copy(path, path + ".copy");
  }
  EXPECT_FALSE(fs::exists(path));
  fs::rename(path + ".copy", path);
  {
    FrozenFile file(Options());
    EXPECT_EQ(file.Take(Ask("two")).state, FrozenState::kHeld);
    EXPECT_EQ(file.bytes(), whole_.size());
    EXPECT_EQ(file.Take(Ask("three", "B", kOther)).state, FrozenState::kWanted)
        << "a former process's list is not the job's";
    EXPECT_EQ(file.path(), path) << "until the other one is whole";
  }
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(FrozenFileTest, OnlyWhoHasAllOfItAndMoreReplacesIt) {
  FrozenFile file(Options());
  Send(file, "one");
  EXPECT_EQ(file.Take(Ask("two", "B", kOther)).state, FrozenState::kNotWanted);
  EXPECT_EQ(file.Take(Ask("two", "C", "{}")).state, FrozenState::kHeld) << "it has less";
  EXPECT_EQ(file.Take(Ask("two", "D", "no JSON")).state, FrozenState::kNotWanted);
  EXPECT_EQ(file.Take(Ask("two", "E", kMore)).state, FrozenState::kWanted);
  EXPECT_FALSE(file.path().empty()) << "until that is whole";
}

TEST_F(FrozenFileTest, WhoAdoptsIsGivenWhatIsThere) {
  FrozenFile file(Options());
  FrozenPart ask = Ask("two", "B", kOther);
  ask.adopts = true;
  ask.size = 0;
  EXPECT_EQ(file.Take(ask).state, FrozenState::kBusy) << "it has nothing to send";
  Send(file, "one");
  ask.size = 7;
  std::string given;
  while (given.size() < whole_.size()) {
    ask.begin = given.size();
    const FrozenAnswer answer = file.Take(ask);
    ASSERT_EQ(answer.state, FrozenState::kOther);
    EXPECT_EQ(answer.of, "A");
    EXPECT_EQ(answer.size, whole_.size());
    EXPECT_EQ(answer.begin, given.size());
    given.append(reinterpret_cast<const char*>(answer.bytes.data()), answer.bytes.size());
  }
  EXPECT_EQ(given, whole_);
  ask.begin = whole_.size();
  EXPECT_EQ(file.Take(ask).state, FrozenState::kNotWanted) << "there is no more";
  ask = Ask("two", "A");
  ask.adopts = true;
  EXPECT_EQ(file.Take(ask).state, FrozenState::kHeld) << "it has the same";
  for (const char* const other : {R"({"base": ["float16 [200]", "1"]})", kMore, "no JSON"}) {
    ask = Ask("two", "B", other);
    ask.adopts = true;
    EXPECT_NE(file.Take(ask).state, FrozenState::kOther) << "it has another model: " << other;
  }
}

TEST_F(FrozenFileTest, OfWhoAdoptsItStaysWithTheCheckpoints) {
  FrozenFile::Options options = Options();
  options.checkpoints = folder_ + "/checkpoints/run";
  const std::string kept = options.checkpoints + "/.frozen.safetensors";
  FrozenPart first = Ask("one");
  first.adopts = true;
  {
    FrozenFile file(options);
    EXPECT_EQ(file.Take(first).state, FrozenState::kWanted);
    FrozenPart all = Part("one", 0, whole_.size());
    all.adopts = true;
    EXPECT_EQ(file.Take(all).state, FrozenState::kHeld);
    EXPECT_EQ(file.path(), kept);
    file.Written();
    EXPECT_EQ(file.path(), kept) << "an evaluator may come yet";
  }
  {
    FrozenFile next(options);
    EXPECT_EQ(next.path(), kept);
    FrozenPart other = Ask("two", "B", kOther);
    other.adopts = true;
    EXPECT_EQ(next.Take(other).state, FrozenState::kOther);
  }
  fs::remove_all(folder_ + "/checkpoints");
  FrozenFile plain(options);
  Send(plain, "one");
  EXPECT_EQ(fs::path(plain.path()).parent_path(), folder_) << "nobody adopts";
  plain.Written();
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(FrozenFileTest, WhoAdoptsAndHasAnotherModelIsToldTheDifference) {
  FrozenFile file(Options());
  Send(file, "one");
  FrozenPart ask = Ask("two", "B", kMore);
  ask.adopts = true;
  for (const uint64_t size : {0, 7}) {
    ask.size = size;
    const FrozenAnswer answer = file.Take(ask);
    EXPECT_EQ(answer.state, FrozenState::kNotWanted);
    EXPECT_THAT(answer.why, HasSubstr("head (uint8 [1]) is none of the first worker"));
  }
  FrozenFile nothing(Options());
  ask.size = 0;
  EXPECT_EQ(nothing.Take(ask).state, FrozenState::kBusy);
  nothing.Written();
  EXPECT_THAT(nothing.Take(ask).why, HasSubstr("no worker has handed any over"));
}

TEST_F(FrozenFileTest, AnotherProcessOnTheSeatDoesNotWaitForTheFormer) {
  FrozenFile file(Options());
  (void)file.Take(Ask("/0#a"));
  (void)file.Take(Part("/0#a", 0, 100));
  EXPECT_EQ(file.Take(Ask("/1#b")).state, FrozenState::kBusy);
  const FrozenAnswer answer = file.Take(Ask("/0#c"));
  EXPECT_EQ(answer.state, FrozenState::kWanted);
  EXPECT_EQ(answer.begin, 0u);
  EXPECT_EQ(file.Take(Part("/0#a", 100, 50)).state, FrozenState::kBusy);
  EXPECT_EQ(Send(file, "/0#c").state, FrozenState::kHeld);
}

TEST_F(FrozenFileTest, WhatIsNoSuchFileIsTakenAway) {
  const std::string path = folder_ + "/.model.safetensors.frozen";
  ASSERT_TRUE(files::WriteFile(path, "half of a file").ok());
  FrozenFile file(Options());
  EXPECT_THAT(Names(), IsEmpty());
  whole_[0] ^= 1;
  const FrozenAnswer answer = Send(file, "one");
  EXPECT_EQ(answer.state, FrozenState::kNotWanted);
  EXPECT_THAT(answer.why, HasSubstr(".frozen"));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(FrozenFileTest, WithoutAModelFileNoneIsWanted) {
  FrozenFile file({.model = "", .now = [this] { return now_; }});
  EXPECT_EQ(file.Take(Ask("one")).state, FrozenState::kNotWanted);
}

TEST_F(FrozenFileTest, AFaultOfTheDiskIsSaidAndNothingIsLeft) {
  FrozenAnswer answer;
  const auto prepare = [&] {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    return std::make_unique<files::testing::FaultyDisk>(folder_);
  };
  const auto work = [&](files::testing::FaultyDisk& disk) {
    FrozenFile::Options options = Options();
    options.disk = &disk;
    FrozenFile file(options);
    answer = Send(file, "one");
    if (answer.state == FrozenState::kHeld) return OkStatus();
    EXPECT_EQ(answer.state, FrozenState::kNotWanted);
    EXPECT_EQ(file.Take(Ask("two")).why, answer.why);
    return Unavailable("{}", answer.why);
  };
  files::testing::WalkFaults(
      {ENOSPC, EIO}, prepare, work, [&](int error_number, uint64_t call, const Status& status) {
        EXPECT_TRUE(status.ok() ||
                    Message(status).find(strerror(error_number)) != std::string::npos)
            << "call " << call << ": " << Message(status);
        if (!status.ok()) {
          EXPECT_THAT(Names(), IsEmpty()) << "call " << call;
        }
      });
}

}  // namespace
}  // namespace paceline::ps
