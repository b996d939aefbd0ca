#include "lib/store/safetensors.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "lib/base/testing/places.h"

namespace paceline::store {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

// A folder of its own for each test.
class SafetensorsTest : public ::testing::Test {
 protected:
  SafetensorsTest() {
    std::string pattern = (fs::temp_directory_path() / "safetensors_test.XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~SafetensorsTest() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  size_t FilesInFolder() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  // A file of this header and so many bytes of data.
  std::string Make(const std::string& header, size_t data_bytes) const {
    const uint64_t length = header.size();
    std::ofstream file(Path("made"), std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), 8);
    file << header << std::string(data_bytes, '\1');
    return Path("made");
  }

  fs::path folder_;
};

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
SafetensorsTensor Tensor(const std::string& name, SafetensorsType type, std::vector<int64_t> shape,
                         const std::vector<T>& values) {
  return {name, type, std::move(shape), std::as_bytes(std::span(values))};
}

const std::vector<float> kWeight = {0.5f, -1.25f, 3, 0, -0.0f, 1e-30f};
const std::vector<float> kBias = {1.5f, 2.5f};
const std::vector<int64_t> kSteps = {7};
const std::vector<double> kLoss = {2.5};
const std::vector<uint16_t> kHalf = {0x3c00, 0xc000};
const std::vector<int32_t> kNone;
const std::vector<int32_t> kNamed = {9};
const std::vector<int16_t> kShort = {-3};
const std::vector<int8_t> kSigned = {-1, 1};
const std::vector<uint8_t> kBytes = {1, 2, 3};
const std::vector<uint8_t> kFlags = {1, 0, 1};

// What tests/golden/safetensors/record.py writes.
std::vector<SafetensorsTensor> TinyTensors() {
  return {Tensor("weight", SafetensorsType::kF32, {2, 3}, kWeight),
          Tensor("bias", SafetensorsType::kF32, {2}, kBias),
          Tensor("steps", SafetensorsType::kI64, {}, kSteps),
          Tensor("loss", SafetensorsType::kF64, {1}, kLoss),
          Tensor("half", SafetensorsType::kF16, {2}, kHalf),
          Tensor("empty", SafetensorsType::kI32, {0, 3}, kNone),
          Tensor("short", SafetensorsType::kI16, {1}, kShort),
          Tensor("signed", SafetensorsType::kI8, {2}, kSigned),
          Tensor("bytes", SafetensorsType::kU8, {3}, kBytes),
          Tensor("flags", SafetensorsType::kBool, {3}, kFlags),
          Tensor("na\"me.\xc3\xa9", SafetensorsType::kI32, {1}, kNamed)};
}

const std::string kRecorded = InSource("tests/golden/safetensors/tiny.safetensors");

TEST_F(SafetensorsTest, WritesTheBytesThatPythonWrites) {
  ASSERT_EQ(WriteSafetensors(Path("tiny"), TinyTensors(), {{"format", "pt"}}), OkStatus());
  EXPECT_EQ(Read(Path("tiny")), Read(kRecorded));
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(SafetensorsTest, ReadsWhatPythonWrote) {
  const auto opened = SafetensorsFile::Open(kRecorded);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  EXPECT_EQ(opened->tensors().size(), TinyTensors().size());
  for (const SafetensorsTensor& want : TinyTensors()) {
    const SafetensorsTensor* const got = opened->Find(want.name);
    ASSERT_NE(got, nullptr) << want.name;
    EXPECT_EQ(got->type, want.type) << want.name;
    EXPECT_EQ(got->shape, want.shape) << want.name;
    EXPECT_TRUE(
        std::equal(got->bytes.begin(), got->bytes.end(), want.bytes.begin(), want.bytes.end()))
        << want.name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(got->bytes.data()) % ElementBytes(got->type), 0u)
        << want.name;
  }
  EXPECT_EQ(opened->Find("nobody"), nullptr);
}

TEST_F(SafetensorsTest, PythonOpensOurFile) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "what is built with a sanitizer is built without a Python that has safetensors";
#endif
  // The one with PyTorch, for a shell.
  const std::string python = fmt::format("\"$('{}' --python)\"", InSource("tools/setup"));
  if (std::system((python + " -c 'import safetensors.numpy'").c_str()) != 0)
    GTEST_SKIP() << "no Python with safetensors here (tools/setup makes one)";
  ASSERT_EQ(WriteSafetensors(Path("tiny"), TinyTensors()), OkStatus());
  const std::string script =
      "import sys; from safetensors.numpy import load_file; t = load_file(sys.argv[1]); "
      "assert t['weight'].tolist() == [[0.5, -1.25, 3.0], [0.0, -0.0, float(t['weight'][1][2])]]; "
      "assert t['steps'].shape == () and int(t['steps']) == 7; assert t['flags'].tolist() == "
      "[True, False, True]; "
      "assert len(t) == 11";
  EXPECT_EQ(std::system((python + " -c \"" + script + "\" " + Path("tiny")).c_str()), 0);
}

TEST_F(SafetensorsTest, AFileWithoutTensorsIsFine) {
  ASSERT_EQ(WriteSafetensors(Path("none"), {}), OkStatus());
  EXPECT_EQ(SafetensorsFile::Open(Path("none"))->tensors().size(), 0u);
}

TEST_F(SafetensorsTest, TensorsOutliveAMoveOfTheFile) {
  ASSERT_EQ(WriteSafetensors(Path("tiny"), TinyTensors()), OkStatus());
  SafetensorsFile first = SafetensorsFile::Open(Path("tiny")).value();
  const SafetensorsFile second = std::move(first);
  EXPECT_EQ(std::to_integer<int>(second.Find("bytes")->bytes[2]), 3);
}

TEST_F(SafetensorsTest, ABadFileIsRefusedByTensor) {
  const struct {
    std::string header;
    size_t data_bytes;
    std::string want;
  } cases[] = {
      {R"(nonsense)", 0, "not a JSON object"},
      {R"([1])", 0, "not a JSON object"},
      {R"({"a":1})", 0, "tensor a is described by number"},
      {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, "tensor a has no dtype"},
      {R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4,
       "tensor a has an unknown dtype: got F31"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "tensor a has no shape"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "tensor a has no shape"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 4, "tensor a has no two data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}})", 4,
       "tensor a has no two data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4,
       "tensor a lies outside the data"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4,
       "tensor a lies outside the data: got [0, 8)"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
       "does not fit its shape [2] of F32"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0,
       "does not fit its shape"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}})",
       5, "tensor b overlaps"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
       3, "1 bytes before tensor b belong to none"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 3,
       "2 bytes at the end belong to no tensor"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       1, "tensor a is named twice"},
      {R"({"__metadata__":{"k":1}})", 0, "k of __metadata__ is number"},
      {R"({"__metadata__":[]})", 0, "__metadata__ is array"},
  };
  for (const auto& test : cases) {
    const std::string path = Make(test.header, test.data_bytes);
    const Status status = SafetensorsFile::Open(path).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << test.header;
    EXPECT_THAT(Message(status), HasSubstr(test.want));
    EXPECT_THAT(Message(status), HasSubstr(path));
  }
}

TEST_F(SafetensorsTest, ABadLengthIsRefused) {
  const auto code = [&](const std::string& bytes) {
    std::ofstream(Path("made"), std::ios::binary) << bytes;
    return SafetensorsFile::Open(Path("made")).status().code();
  };
  EXPECT_EQ(code(""), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("1234567"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(std::string("\3\0\0\0\0\0\0\0{}", 10)), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(std::string(8, '\xff') + "{}"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(std::string("\2\0\0\0\0\0\0\0{}", 10)), StatusCode::kOk);
}

TEST_F(SafetensorsTest, MissingFilesAndFoldersAreSaid) {
  EXPECT_EQ(SafetensorsFile::Open(Path("missing")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(SafetensorsFile::Open(folder_.string()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(WriteSafetensors(Path("no/such/folder"), TinyTensors()).code(), StatusCode::kNotFound);
}

TEST_F(SafetensorsTest, BadTensorsAreNotWritten) {
  const auto code = [&](std::vector<SafetensorsTensor> tensors) {
    return WriteSafetensors(Path("bad"), std::move(tensors)).code();
  };
  EXPECT_EQ(code({TinyTensors()[0], TinyTensors()[0]}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({Tensor("w", SafetensorsType::kF32, {3}, kBias)}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({Tensor("w", SafetensorsType::kF32, {-2}, kBias)}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({Tensor("__metadata__", SafetensorsType::kF32, {2}, kBias)}),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(FilesInFolder(), 0u);
}

// The process of an earlier pod had this process's id.
TEST_F(SafetensorsTest, WhatADeadProcessLeftIsNoHindrance) {
  for (int i = 1; i <= 20; ++i)
    std::ofstream(fmt::format("{}.{}.{}.tmp", Path("model"), getpid(), i)) << "half";
  EXPECT_EQ(WriteSafetensors(Path("model"), TinyTensors()), OkStatus());
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(SafetensorsTest, AFullDiskLeavesTheOldFileAndNothingElse) {
  ASSERT_EQ(WriteSafetensors(Path("model"), {TinyTensors()[1]}), OkStatus());
  const std::string before = Read(Path("model"));
  const std::vector<float> large(100000);
  // A limit on the size of files fails as a full disk does, and needs no disk.
  struct rlimit old_limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const struct rlimit limit = {.rlim_cur = 65536, .rlim_max = old_limit.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status status =
      WriteSafetensors(Path("model"), {Tensor("w", SafetensorsType::kF32, {100000}, large)});
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(Read(Path("model")), before);
  EXPECT_EQ(FilesInFolder(), 1u);
}

}  // namespace
}  // namespace paceline::store
