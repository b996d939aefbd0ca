// Defines Seat: which of its job's workers a process is, whatever number the coordinator gives it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace paceline::protocol {

struct Seat {
  std::string group;   // Empty: the job has no groups.
  uint64_t index = 0;  // In its group.
  friend auto operator<=>(const Seat&, const Seat&) = default;
};

// How people are told of it: "w3", and "big/3" in a job with groups.
inline std::string ToString(const Seat& seat) {
  return seat.group.empty() ? fmt::format("w{}", seat.index)
                            : fmt::format("{}/{}", seat.group, seat.index);
}

}  // namespace paceline::protocol
