#include "tests/integration/run_files.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include <gtest/gtest.h>

#include "lib/store/safetensors.h"

namespace paceline::integration {

void WriteDataset(const std::string& path, const std::vector<float>& values, int64_t features,
                  const std::vector<int64_t>& targets) {
  const auto samples = static_cast<int64_t>(targets.size());
  const Status written =
      store::WriteSafetensors(path, {{.name = "inputs",
                                      .type = store::SafetensorsType::kF32,
                                      .shape = {samples, features},
                                      .bytes = std::as_bytes(std::span(values))},
                                     {.name = "targets",
                                      .type = store::SafetensorsType::kI64,
                                      .shape = {samples},
                                      .bytes = std::as_bytes(std::span(targets))}});
  ASSERT_TRUE(written.ok()) << written;
}

std::map<std::string, std::vector<std::byte>> ReadModel(const std::string& path) {
  std::map<std::string, std::vector<std::byte>> tensors;
  const auto file = store::SafetensorsFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return tensors;
  for (const store::SafetensorsTensor& tensor : file->tensors())
    tensors[tensor.name].assign(tensor.bytes.begin(), tensor.bytes.end());
  return tensors;
}

double LargestDifference(const std::map<std::string, std::vector<std::byte>>& one,
                         const std::map<std::string, std::vector<std::byte>>& other) {
  constexpr double kDifferent = std::numeric_limits<double>::infinity();
  if (one.size() != other.size()) return kDifferent;
  double largest = 0;
  for (const auto& [name, bytes] : one) {
    const auto found = other.find(name);
    if (found == other.end() || found->second.size() != bytes.size()) return kDifferent;
    if (bytes == found->second) continue;
    if (name.find("num_batches") != std::string::npos) return kDifferent;
    for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
      float a = 0;
      float b = 0;
      std::memcpy(&a, bytes.data() + at, sizeof a);
      std::memcpy(&b, found->second.data() + at, sizeof b);
      const double difference = std::abs(static_cast<double>(a) - b);
      largest = std::isnan(difference) ? kDifferent : std::max(largest, difference);
    }
  }
  return largest;
}

}  // namespace paceline::integration
