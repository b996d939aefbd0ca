// Defines the numbers that name things: WorkerId, ShardId, Sequence, Incarnation.
//
// Each is its own type, so that one cannot stand where another is meant.
//
// Example:
//   WorkerId worker{3};
//   fmt::format("{}", worker)   // "w3"
//   worker.value()              // 3
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include <fmt/format.h>

namespace paceline {

// A number of kind `Tag`, written as `Tag::kPrefix` and the number.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  explicit constexpr Id(uint64_t value) : value_(value) {}
  constexpr uint64_t value() const { return value_; }
  constexpr Id Next() const { return Id(value_ + 1); }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  uint64_t value_ = 0;
};

struct WorkerTag {
  static constexpr const char* kPrefix = "w";
};
struct ShardTag {
  static constexpr const char* kPrefix = "s";
};
struct SequenceTag {
  static constexpr const char* kPrefix = "#";
};
struct IncarnationTag {
  static constexpr const char* kPrefix = "i";
};
struct VersionTag {
  static constexpr const char* kPrefix = "v";
};

using WorkerId = Id<WorkerTag>;    // A worker's index in its job; survives restarts.
using ShardId = Id<ShardTag>;      // A parameter server's rank; rank 0 is the coordinator too.
using Sequence = Id<SequenceTag>;  // Counts a worker's pushes within one incarnation, from 1.
using Incarnation = Id<IncarnationTag>;  // Issued at each join, monotone per worker, from 1.

template <class Tag>
std::string ToString(Id<Tag> id) {
  return Tag::kPrefix + std::to_string(id.value());
}

}  // namespace paceline

template <class Tag>
struct std::hash<paceline::Id<Tag>> {
  size_t operator()(paceline::Id<Tag> id) const noexcept {
    return std::hash<uint64_t>{}(id.value());
  }
};

template <class Tag>
struct fmt::formatter<paceline::Id<Tag>> : fmt::formatter<std::string> {
  auto format(paceline::Id<Tag> id, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(paceline::ToString(id), context);
  }
};
