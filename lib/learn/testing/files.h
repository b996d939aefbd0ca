// Defines what lib/learn's tests write files with.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/learn/data/columns.h"

namespace paceline::learn::testing {

// A folder of the running test's own, removed with it.
class TestFolder {
 public:
  TestFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              fmt::format("paceline-{}-{}-{}", test->test_suite_name(), test->name(), getpid());
    std::filesystem::create_directories(folder_);
  }
  ~TestFolder() { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }

 private:
  std::filesystem::path folder_;
};

template <class T>
std::string Bytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

struct NamedBytes {
  std::string name;
  std::string dtype;  // "F32", "I64" ...
  std::vector<int64_t> shape;
  std::string bytes;
};

inline std::string Safetensors(const std::vector<NamedBytes>& tensors) {
  std::string header = "{";
  std::string data;
  for (const NamedBytes& tensor : tensors) {
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                          header.size() > 1 ? "," : "", tensor.name, tensor.dtype,
                          ShapeText(tensor.shape), data.size(), data.size() + tensor.bytes.size());
    data += tensor.bytes;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + header + data;
}

// A training set: inputs of `shape` (rows first), targets as classes.
inline std::string Samples(const std::vector<int64_t>& shape, const std::vector<float>& inputs,
                           const std::vector<int64_t>& targets) {
  return Safetensors({{"inputs", "F32", shape, Bytes(inputs)},
                      {"targets", "I64", {static_cast<int64_t>(targets.size())}, Bytes(targets)}});
}

}  // namespace paceline::learn::testing
