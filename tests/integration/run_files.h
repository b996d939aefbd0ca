// What tests put into a run's files, and read out of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace paceline::integration {

// A data set of our own: inputs float32 [values.size() / features, features], targets int64.
void WriteDataset(const std::string& path, const std::vector<float>& values, int64_t features,
                  const std::vector<int64_t>& targets);

// The model file's tensors by name, byte for byte as our reader maps them. Empty, and the test
// fails, if it cannot be read.
std::map<std::string, std::vector<std::byte>> ReadModel(const std::string& path);

// The largest difference between float32 values of the same place; infinite if the names, sizes or
// int64 tensors differ.
double LargestDifference(const std::map<std::string, std::vector<std::byte>>& one,
                         const std::map<std::string, std::vector<std::byte>>& other);

}  // namespace paceline::integration
