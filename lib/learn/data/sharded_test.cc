// Sets of several files, and of files that are mapped.
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/learn/data/dataset.h"
#include "lib/learn/testing/trainings.h"

namespace paceline::learn {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Safetensors;
using testing::TestFolder;

// A data set with a number a row, targets those times ten.
std::string Numbers(const std::vector<float>& inputs, const std::string& type = "I64") {
  std::vector<int64_t> targets;
  for (const float input : inputs) targets.push_back(static_cast<int64_t>(input) * 10);
  const auto rows = static_cast<int64_t>(inputs.size());
  const std::vector<int32_t> narrow(targets.begin(), targets.end());
  return Safetensors({{"inputs", "F32", {rows, 1}, Bytes(inputs)},
                      {"targets", type, {rows}, type == "I64" ? Bytes(targets) : Bytes(narrow)}});
}

std::string Npy(const std::vector<int64_t>& values) {
  std::string header =
      fmt::format("{{'descr': '<i8', 'fortran_order': False, 'shape': ({},), }}", values.size());
  header.resize((header.size() + 10 + 63) / 64 * 64 - 10, ' ');
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.push_back(static_cast<char>(header.size() & 0xff));
  bytes.push_back(static_cast<char>(header.size() >> 8));
  return bytes + header + Bytes(values);
}

template <class T>
std::vector<T> GatherAs(const Column& column, const std::vector<uint32_t>& samples) {
  std::vector<T> values(samples.size() * column.row_elements());
  column.Gather(samples, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::vector<int64_t> AllTargets(const Dataset& data) {
  std::vector<uint32_t> samples;
  for (uint64_t i = 0; i < data.samples(); ++i) samples.push_back(static_cast<uint32_t>(i));
  return GatherAs<int64_t>(data.targets(), samples);
}

Dataset Opened(const DatasetOptions& options) {
  StatusOr<Dataset> data = Dataset::Open(options);
  EXPECT_TRUE(data.ok()) << data.status();
  return *std::move(data);
}

class ShardedTest : public ::testing::Test {
 protected:
  // Made with its folder.
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.Path(name)).parent_path());
    return folder_.Write(name, bytes);
  }
  std::string Refusal(const DatasetOptions& options,
                      StatusCode code = StatusCode::kInvalidArgument) const {
    const StatusOr<Dataset> data = Dataset::Open(options);
    EXPECT_FALSE(data.ok());
    EXPECT_EQ(data.status().code(), code) << data.status();
    return Message(data.status());
  }

  const TestFolder folder_;
};

TEST_F(ShardedTest, AFoldersFilesAreOneSetInTheOrderOfTheirNames) {
  Write("set/b.safetensors", Numbers({4, 5}));
  Write("set/a.safetensors", Numbers({1, 2, 3}));
  Write("set/c.safetensors", Numbers({}));
  Write("set/d.safetensors", Numbers({6}));
  // None of these is data.
  Write("set/README.md", "text");
  Write("set/.e.safetensors", "half of a file");
  Write("set/below/f.safetensors", Numbers({7}));
  const Dataset data = Opened({.path = folder_.Path("set") + "/"});
  EXPECT_EQ(data.samples(), 6u);
  EXPECT_THAT(AllTargets(data), ElementsAre(10, 20, 30, 40, 50, 60));
  EXPECT_THAT(GatherAs<float>(data.inputs().front(), {5, 3, 0, 2, 4}), ElementsAre(6, 4, 1, 3, 5));
  EXPECT_THAT(data.inputs().front().name, HasSubstr("set/ (4 files): tensor inputs"));
  EXPECT_THAT(AllTargets(Opened({.path = folder_.Path("set")})),
              ElementsAre(10, 20, 30, 40, 50, 60))
      << "the stroke is the manifest's";
}

TEST_F(ShardedTest, APatternChoosesFiles) {
  Write("train-1.safetensors", Numbers({1}));
  Write("train-2.safetensors", Numbers({2}));
  Write("train-10.safetensors", Numbers({10}));
  Write("test-1.safetensors", Numbers({7}));
  EXPECT_THAT(AllTargets(Opened({.path = folder_.Path("train-*.safetensors")})),
              ElementsAre(10, 100, 20));
  EXPECT_THAT(AllTargets(Opened({.path = folder_.Path("train-?.safetensors")})),
              ElementsAre(10, 20));
  EXPECT_THAT(AllTargets(Opened({.path = folder_.Path("t*-1.*")})), ElementsAre(70, 10));
  // A file that there is means itself.
  Write("a*.safetensors", Numbers({3}));
  Write("ab.safetensors", Numbers({4}));
  EXPECT_THAT(AllTargets(Opened({.path = folder_.Path("a*.safetensors")})), ElementsAre(30));
}

TEST_F(ShardedTest, NamesTwoFilesThatDiffer) {
  Write("set/a.safetensors", Numbers({1, 2}));
  const std::string second =
      Write("set/b.safetensors", Safetensors({{"inputs", "F32", {1, 2}, Bytes<float>({1, 2})},
                                              {"targets", "I64", {1}, Bytes<int64_t>({1})}}));
  std::string said = Refusal({.path = folder_.Path("set/")});
  EXPECT_THAT(said, HasSubstr("set/a.safetensors: tensor inputs has shape [1] of float32"));
  EXPECT_THAT(said, HasSubstr("set/b.safetensors: tensor inputs has shape [2] of float32"));

  Write("set/b.safetensors", Numbers({3}, "I32"));
  said = Refusal({.path = folder_.Path("set/")});
  EXPECT_THAT(said, HasSubstr("a.safetensors: tensor targets has shape [] of int64"));
  EXPECT_THAT(said, HasSubstr("b.safetensors: tensor targets has shape [] of int32"));

  Write("set/b.safetensors", Safetensors({{"inputs", "F32", {1, 1}, Bytes<float>({1})},
                                          {"targets", "I64", {2}, Bytes<int64_t>({1, 2})}}));
  EXPECT_THAT(Refusal({.path = folder_.Path("set/")}), HasSubstr("b.safetensors: tensor targets"));
}

TEST_F(ShardedTest, SaysWhatAFolderOrAPatternLacks) {
  Write("set/notes.txt", "");
  EXPECT_THAT(Refusal({.path = folder_.Path("set/")}), HasSubstr("set/ has no data file"));
  EXPECT_THAT(Refusal({.path = folder_.Path("set/*.bin")}), HasSubstr("*.bin has no data file"));
  EXPECT_THAT(Refusal({.path = folder_.Path("none/")}, StatusCode::kNotFound), HasSubstr("none/"));
  EXPECT_THAT(Refusal({.path = folder_.Path("none/*.bin")}, StatusCode::kNotFound),
              HasSubstr("none"));
  Write("set/a.safetensors", Numbers({1}));
  Write("set/b.bin", Bytes<uint16_t>({1, 2}));
  const std::string said = Refusal({.path = folder_.Path("set/")});
  EXPECT_THAT(said, HasSubstr("several kinds"));
  EXPECT_THAT(said, HasSubstr("a.safetensors"));
  EXPECT_THAT(said, HasSubstr("b.bin"));
}

TEST_F(ShardedTest, NoWindowOfTokensCrossesFiles) {
  Write("set/a.bin", Bytes<uint16_t>({10, 11, 12, 13, 14, 15}));  // Two windows, one token over.
  Write("set/b.bin", Bytes<uint16_t>({20, 21, 22, 23}));          // One window, one token over.
  const Dataset data = Opened({.path = folder_.Path("set/"), .window_tokens = 2});
  EXPECT_EQ(data.samples(), 3u);
  EXPECT_THAT(GatherAs<int64_t>(data.inputs().front(), {0, 1, 2}),
              ElementsAre(10, 11, 12, 13, 20, 21));
  EXPECT_THAT(AllTargets(data), ElementsAre(11, 12, 13, 14, 21, 22));
  Write("set/c.bin", Bytes<uint16_t>({30, 31}));
  EXPECT_THAT(Refusal({.path = folder_.Path("set/"), .window_tokens = 2}),
              HasSubstr("c.bin has 2 tokens, want at least 3"));
}

TEST_F(ShardedTest, InputsAndTargetsOfPairsGoByTheOrderOfTheirNames) {
  Write("x/1.npy", Npy({1, 2}));
  Write("x/2.npy", Npy({3}));
  Write("y/a.npy", Npy({10, 20}));
  Write("y/b.npy", Npy({30}));
  EXPECT_THAT(AllTargets(Opened({.path = folder_.Path("x/"), .targets_path = folder_.Path("y/")})),
              ElementsAre(10, 20, 30));
  Write("y/c.npy", Npy({40}));
  EXPECT_THAT(Refusal({.path = folder_.Path("x/"), .targets_path = folder_.Path("y/")}),
              HasSubstr("y/ has 3 files, want one for each of 2"));
}

TEST_F(ShardedTest, WithoutNamesOfTargetsSiblingsAreFound) {
  Write("set/1-inputs.npy", Npy({1}));
  Write("set/1-targets.npy", Npy({10}));
  Write("set/2-inputs.npy", Npy({2}));
  Write("set/2-targets.npy", Npy({20}));
  EXPECT_THAT(AllTargets(Opened({.path = folder_.Path("set/")})), ElementsAre(10, 20));
  Write("set/other.npy", Npy({3}));
  EXPECT_THAT(Refusal({.path = folder_.Path("set/")}), HasSubstr("targets of"));
}

TEST_F(ShardedTest, TheSmallestAndTheLargestAreOfAllFiles) {
  Write("set/a.safetensors", Numbers({3, -2}));
  Write("set/b.safetensors", Numbers({}));
  Write("set/c.safetensors", Numbers({9}));
  const Dataset data = Opened({.path = folder_.Path("set/")});
  EXPECT_EQ(data.targets().IntegerExtent().smallest, -20);
  EXPECT_EQ(data.targets().IntegerExtent().largest, 90);
  EXPECT_EQ(data.targets().IntegerExtent(data.targets().pieces[1]).largest, -1);
}

TEST_F(ShardedTest, AClassBeyondTheOutputsIsToldWithItsFile) {
  Write("set/a.safetensors", Numbers({0, 1}));
  Write("set/b.safetensors", Numbers({2}));  // Class 20.
  const auto training = Training::Create(
      {.built_in = BuiltIn{.kind = BuiltInKind::kSoftmax, .input_shape = {1}, .outputs = 12},
       .loss = "CrossEntropy",
       .train = {.path = folder_.Path("set/")}});
  ASSERT_FALSE(training.ok());
  EXPECT_THAT(Message(training.status()),
              HasSubstr("b.safetensors: tensor targets has class 20, but the model's outputs"));
}

// A page and more are taken away from under the reader.
TEST_F(ShardedTest, AFileThatIsShortenedIsSaidAndNoEnd) {
  const std::vector<float> many(20'000, 1);
  Write("set/a.safetensors", Numbers({1}));
  const std::string shortened = Write("set/b.safetensors", Numbers(many));
  const Dataset data = Opened({.path = folder_.Path("set/")});
  std::filesystem::resize_file(shortened, 4096);
  std::byte row[8];
  data.targets().Gather(std::vector<uint32_t>{0}, row);
  for (int i = 0; i < 2; ++i) {
    try {
      data.targets().Gather(std::vector<uint32_t>{0, 19'000}, row);
      ADD_FAILURE() << "it was read";
    } catch (const LostRows& error) {
      EXPECT_THAT(error.what(), HasSubstr("b.safetensors: tensor targets was shortened"));
    }
  }
  EXPECT_THROW(data.targets().IntegerExtent(), LostRows);
  data.targets().Gather(std::vector<uint32_t>{0}, row);
}

using ShardedDeathTest = ShardedTest;

TEST_F(ShardedDeathTest, OtherFaultsAreWhatTheyWere) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fault = [&] {
    const Dataset data = Opened({.path = Write("a.safetensors", Numbers(std::vector<float>(9)))});
    AllTargets(data);
    raise(SIGBUS);
  };
  EXPECT_EXIT(fault(), ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace paceline::learn
