// Defines TraceSegments, where a policy's trace goes: files of which the first and the newest are
// kept (lib/files/segments.h), so that all of them stay below a bound.
//
// A trace is worth less than the training that it records: whatever fails after Open is logged once
// and turns it off.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/files/disk.h"
#include "lib/telemetry/trace_file.h"

namespace paceline::telemetry {

// Thread-safe.
class TraceSegments {
 public:
  // Goes on behind what an earlier process wrote, or makes `path`. All files together have at most
  // `bytes_max`, plus a snapshot and what one event leads to. Errors as of Disk if it cannot be
  // opened. `disk` outlives this.
  static StatusOr<std::unique_ptr<TraceSegments>> Open(const std::string& path, uint64_t bytes_max,
                                                       files::Disk& disk = files::SystemDisk());

  TraceSegments(const TraceSegments&) = delete;
  TraceSegments& operator=(const TraceSegments&) = delete;

  // Adds `line` and its end to a buffer; writes that out when it is full, and may then block as the
  // disk does. `line` holds no line end itself.
  void Append(std::string_view line);

  // Whether it is time for another segment. Whoever writes calls Begin between two events.
  bool IsFull() const;
  // `snapshot` stands in for all before it where that was removed. Removes the oldest segment but
  // the first where there are too many.
  void Begin(const std::vector<std::string>& snapshot);

  void Flush();

  // Turns it off and removes its files, for what needs the room more. Nothing if it was done.
  void GiveRoom();

  // True once it writes nothing more.
  bool is_off() const;

 private:
  TraceSegments(std::string path, uint64_t number, uint64_t bytes, uint64_t segment_bytes,
                std::unique_ptr<TraceFile> file, files::Disk& disk);
  bool IsOn() const { return file_ != nullptr && !file_->is_off(); }
  void AppendLine(std::string_view line);
  void TurnOff(const Status& status);

  const std::string path_;
  const uint64_t segment_bytes_;
  files::Disk& disk_;
  mutable std::mutex mutex_;         // Of all below.
  std::unique_ptr<TraceFile> file_;  // The newest; null once it is off.
  uint64_t number_ = 0;
  uint64_t bytes_ = 0;  // Of the newest, with what is buffered.
  bool has_given_room_ = false;
};

}  // namespace paceline::telemetry
