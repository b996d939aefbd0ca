// Defines Happening: what the driver's queue holds.
#pragma once

#include <cstdint>

namespace paceline::simulator {

enum class Direction : uint8_t { kPull, kPush };

struct Happening {
  enum class Kind : uint8_t {
    kComputed,  // A worker has its gradient.
    kGivenUp,   // A worker is free of the step that it was to give up.
    kArrived,   // A transfer is whole.
    kLinkFree,  // A transfer may have left the server's link.
    kAnswered,  // The shard says what it owes.
    kCrashes,   // A worker's process ends.
    kMissed,    // The server learns that a process has ended.
    kJoins,     // A worker's process begins.
  };
  Kind kind = Kind::kComputed;
  Direction direction = Direction::kPull;
  uint16_t life = 0;  // Of the worker: what is of an earlier one is void.
  uint32_t worker = 0;
  uint64_t turn = 0;  // Of the worker; kLinkFree: of the link; kCrashes: which absence begins.
};

}  // namespace paceline::simulator
