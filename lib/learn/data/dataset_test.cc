#include "lib/learn/data/dataset.h"

#include <cstring>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/learn/testing/files.h"

namespace paceline::learn {
namespace {

using ::testing::AllOf;
using testing::Bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Safetensors;
using testing::TestFolder;

template <class T>
std::vector<T> GatherAs(const Column& column, const std::vector<uint32_t>& samples) {
  std::vector<T> values(samples.size() * column.row_elements());
  EXPECT_EQ(samples.size() * column.row_bytes(), values.size() * sizeof(T));
  column.Gather(samples, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::string Idx(std::vector<uint32_t> shape, const std::vector<uint8_t>& elements, char type = 8) {
  std::string bytes{0, 0, type, static_cast<char>(shape.size())};
  for (const uint32_t size : shape) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(size >> shift));
  }
  return bytes + Bytes(elements);
}

std::string Npy(const std::string& descr, const std::string& shape, const std::string& elements,
                const std::string& order = "False") {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 63) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.push_back(static_cast<char>(header.size() & 0xff));
  bytes.push_back(static_cast<char>(header.size() >> 8));
  return bytes + header + elements;
}

TEST(DatasetTest, ReadsSafetensors) {
  const TestFolder folder;
  const std::string path = folder.Write(
      "train.safetensors", Safetensors({{"extra", "F64", {1}, std::string(8, 'x')},
                                        {"inputs", "F32", {3, 2}, Bytes<float>({1, 2, 3, 4, 5, 6})},
                                        {"targets", "I64", {3}, Bytes<int64_t>({7, 8, 9})}}));
  const StatusOr<Dataset> data = Dataset::Open({.path = path});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->samples(), 3u);
  EXPECT_THAT(data->inputs().front().shape, ElementsAre(2));
  EXPECT_TRUE(data->targets().shape.empty());
  EXPECT_THAT(GatherAs<float>(data->inputs().front(), {2, 0, 2}), ElementsAre(5, 6, 1, 2, 5, 6));
  EXPECT_THAT(GatherAs<int64_t>(data->targets(), {1, 2}), ElementsAre(8, 9));
  EXPECT_EQ(data->targets().IntegerExtent().smallest, 7);
  EXPECT_EQ(data->targets().IntegerExtent().largest, 9);
}

TEST(DatasetTest, ReadsIdxAsUnitFloatsWithAChannel) {
  const TestFolder folder;
  const std::string path =
      folder.Write("train-images-idx3-ubyte", Idx({2, 1, 2}, {0, 255, 51, 102}));
  folder.Write("train-labels-idx1-ubyte", Idx({2}, {3, 250}));
  const StatusOr<Dataset> data = Dataset::Open({.path = path});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->inputs().front().shape, ElementsAre(1, 1, 2));
  EXPECT_THAT(GatherAs<float>(data->inputs().front(), {1, 0}),
              ElementsAre(51.0f / 255, 102.0f / 255, 0, 1));
  EXPECT_THAT(GatherAs<int64_t>(data->targets(), {0, 1}), ElementsAre(3, 250));
}

TEST(DatasetTest, ReadsNpyPairs) {
  const TestFolder folder;
  const std::string path =
      folder.Write("inputs.npy", Npy("<f4", "(2, 2)", Bytes<float>({1, 2, 3, 4})));
  folder.Write("targets.npy", Npy("<i4", "(2,)", Bytes<int32_t>({-1, 5})));
  const StatusOr<Dataset> data = Dataset::Open({.path = path});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(GatherAs<float>(data->inputs().front(), {1}), ElementsAre(3, 4));
  EXPECT_THAT(GatherAs<int64_t>(data->targets(), {0, 1}), ElementsAre(-1, 5));
}

TEST(DatasetTest, TakesTheTargetsPathThatIsGiven) {
  const TestFolder folder;
  const std::string path = folder.Write("x.npy", Npy("<f4", "(1, 1)", Bytes<float>({1})));
  const std::string targets = folder.Write("y.npy", Npy("|u1", "(1,)", Bytes<uint8_t>({200})));
  const StatusOr<Dataset> data = Dataset::Open({.path = path, .targets_path = targets});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(GatherAs<int64_t>(data->targets(), {0}), ElementsAre(200));
}

TEST(DatasetTest, CutsTokensIntoWindowsWithTheNextTokenAsTarget) {
  const TestFolder folder;
  const std::string path =
      folder.Write("tokens.bin", Bytes<uint16_t>({10, 11, 12, 13, 14, 15, 16, 65535}));
  const StatusOr<Dataset> data = Dataset::Open({.path = path, .window_tokens = 3});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->samples(), 2u);
  EXPECT_THAT(GatherAs<int64_t>(data->inputs().front(), {1, 0}),
              ElementsAre(13, 14, 15, 10, 11, 12));
  EXPECT_THAT(GatherAs<int64_t>(data->targets(), {1}), ElementsAre(14, 15, 16));
}

TEST(DatasetTest, ReadsFourByteTokens) {
  const TestFolder folder;
  const std::string path = folder.Write("tokens.bin", Bytes<int32_t>({1, 100000, 3}));
  const StatusOr<Dataset> data =
      Dataset::Open({.path = path, .window_tokens = 2, .token_bytes = 4});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(GatherAs<int64_t>(data->targets(), {0}), ElementsAre(100000, 3));
}

struct Refusal {
  std::string name;
  std::string file;
  std::string bytes;
  std::string targets_file;
  std::string targets_bytes;
  std::vector<std::string> says;
};

TEST(DatasetTest, SaysWhatIsWrongWithAFile) {
  const std::string one = Bytes<float>({1});
  const std::string labels = Bytes<int64_t>({1});
  const Refusal cases[] = {
      {"unknown ending", "data.csv", "1,2", "", "", {"data.csv", "ending", ".safetensors"}},
      {"damaged safetensors", "a.safetensors", "nonsense", "", "", {"a.safetensors"}},
      {"no inputs",
       "a.safetensors",
       Safetensors({{"x", "F32", {1}, one}, {"targets", "I64", {1}, labels}}),
       "",
       "",
       {"a.safetensors", "tensor inputs", "x"}},
      {"no targets",
       "a.safetensors",
       Safetensors({{"inputs", "F32", {1}, one}}),
       "",
       "",
       {"tensor targets"}},
      {"double inputs",
       "a.safetensors",
       Safetensors({{"inputs", "F64", {1}, std::string(8, 0)}, {"targets", "I64", {1}, labels}}),
       "",
       "",
       {"tensor inputs", "F64", "[1]", "F32"}},
      {"scalar inputs",
       "a.safetensors",
       Safetensors({{"inputs", "F32", {}, one}, {"targets", "I64", {1}, labels}}),
       "",
       "",
       {"tensor inputs", "[]"}},
      {"samples differ",
       "a.safetensors",
       Safetensors(
           {{"inputs", "F32", {2, 1}, Bytes<float>({1, 2})}, {"targets", "I64", {1}, labels}}),
       "",
       "",
       {"samples differ", "[2, 1]", "[1]"}},
      {"no sample",
       "a.safetensors",
       Safetensors({{"inputs", "F32", {0, 4}, ""}, {"targets", "I64", {0}, ""}}),
       "",
       "",
       {"no sample"}},
      {"empty rows",
       "a.safetensors",
       Safetensors({{"inputs", "F32", {1, 0}, ""}, {"targets", "I64", {1}, labels}}),
       "",
       "",
       {"empty rows", "[1, 0]"}},
      {"compressed IDX",
       "images-idx3-ubyte",
       "\x1f\x8b\x08\x01",
       "",
       "",
       {"images-idx3-ubyte", "gunzip"}},
      {"IDX of floats", "images-idx3-ubyte", Idx({1, 1, 1}, {0}, 13), "", "", {"0x0d", "0x08"}},
      {"IDX cut off",
       "images-idx3-ubyte",
       Idx({2, 2, 2}, {1, 2, 3}),
       "",
       "",
       {"3 bytes", "want 8", "[2, 2, 2]"}},
      {"IDX of labels as images",
       "images-idx3-ubyte",
       Idx({2}, {1, 2}),
       "",
       "",
       {"1 dimensions, want 3"}},
      {"IDX without rule for targets",
       "my-idx-images",
       Idx({1, 1, 1}, {1}),
       "",
       "",
       {"my-idx-images", "labels-idx1"}},
      {"npy of doubles",
       "inputs.npy",
       Npy("<f8", "(1,)", std::string(8, 0)),
       "",
       "",
       {"<f8", "<f4"}},
      {"npy in Fortran order",
       "inputs.npy",
       Npy("<f4", "(1, 1)", one, "True"),
       "",
       "",
       {"Fortran"}},
      {"npy cut off",
       "inputs.npy",
       Npy("<f4", "(2, 1)", one),
       "",
       "",
       {"4 bytes", "want 8", "[2, 1]"}},
      {"npy that is none", "inputs.npy", "nonsense", "", "", {"not a .npy file"}},
      {"npy of huge shape",
       "inputs.npy",
       Npy("<f4", "(9000000000000000000, 9)", ""),
       "",
       "",
       {"inputs.npy"}},
      {"npy without a targets rule", "x.npy", "", "", "", {"x.npy", "targets", "inputs"}},
      {"too few tokens",
       "t.bin",
       Bytes<uint16_t>({1, 2}),
       "",
       "",
       {"2 tokens", "want at least 129"}},
      {"half a token", "t.bin", "abc", "", "", {"3 bytes", "multiple of 2"}},
  };
  for (const Refusal& refusal : cases) {
    const TestFolder folder;
    const std::string path = folder.Write(refusal.file, refusal.bytes);
    const StatusOr<Dataset> data = Dataset::Open({.path = path});
    ASSERT_FALSE(data.ok()) << refusal.name;
    EXPECT_EQ(data.status().code(), StatusCode::kInvalidArgument) << refusal.name << data.status();
    for (const std::string& part : refusal.says) {
      EXPECT_THAT(Message(data.status()), HasSubstr(part)) << refusal.name;
    }
  }
}

TEST(DatasetTest, NamesTheFileThatIsMissing) {
  const TestFolder folder;
  for (const std::string name :
       {"none.safetensors", "none-images-idx3-ubyte", "none-inputs.npy", "none.bin"}) {
    const StatusOr<Dataset> data = Dataset::Open({.path = folder.Path(name)});
    EXPECT_EQ(data.status().code(), StatusCode::kNotFound) << data.status();
    EXPECT_THAT(Message(data.status()), HasSubstr(name));
  }
}

TEST(DatasetTest, NamesTheTargetsFileThatIsMissing) {
  const TestFolder folder;
  const std::string path = folder.Write("images-idx3-ubyte", Idx({1, 1, 1}, {1}));
  const StatusOr<Dataset> data = Dataset::Open({.path = path});
  EXPECT_EQ(data.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(data.status()), HasSubstr("labels-idx1-ubyte"));
}

}  // namespace
}  // namespace paceline::learn
