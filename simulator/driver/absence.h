// Defines Absence and Outage: who is not there when, and who cannot be reached.
#pragma once

#include <cstdint>
#include <optional>

namespace paceline::simulator {

// A worker whose process ends, and with it all that it knew; or that joins late (from 0 on).
struct Absence {
  uint32_t worker = 0;
  double from_seconds = 0;
  std::optional<double> until_seconds;  // Then another process takes its place; absent: none does.
  // The server learns of its end by its silence, as where a machine is lost; else at once.
  bool is_silent = false;
};

// Nothing that a worker pulls or pushes gets on meanwhile; it computes.
struct Outage {
  uint32_t worker = 0;
  double from_seconds = 0;
  double until_seconds = 0;
};

}  // namespace paceline::simulator
