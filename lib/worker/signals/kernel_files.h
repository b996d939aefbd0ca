// Defines how the small text files are read in which the kernel tells numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::worker {

// The whole file; nothing if it cannot be read.
std::optional<std::string> ReadKernelFile(const std::string& path);

std::vector<std::string_view> SplitWords(std::string_view line);

// The whole of `word` as a number that is not negative.
std::optional<uint64_t> ReadNumber(std::string_view word);

// A file that is one number; nothing for "max" and the like.
std::optional<uint64_t> ReadNumberFile(const std::string& path);

// The number after `key` in lines of a key and a number.
std::optional<uint64_t> FindNumber(std::string_view text, std::string_view key);

}  // namespace paceline::worker
