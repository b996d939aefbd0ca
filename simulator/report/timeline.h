// Defines Timeline: a life as ui.perfetto.dev and chrome://tracing show it, a row for each worker's
// computing, pulls and pushes, and one for the server's versions.
#pragma once

#include <ostream>

#include "simulator/driver/occurrence.h"

namespace paceline::simulator {

// Writes JSON of the trace event format
// (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU) as it is told; the
// document is whole once this is gone. Virtual seconds are seconds there.
class Timeline {
 public:
  // `out` outlives it; whether it took all that was written is the caller's to ask.
  Timeline(std::ostream& out, size_t workers);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  void Add(const Occurrence& one);

 private:
  std::ostream& out_;
};

}  // namespace paceline::simulator
