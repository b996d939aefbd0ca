// Defines TraceFile: a file of lines that somebody may want to look at later.
//
// A trace is worth less than the training that it records: whatever fails after Open is logged once
// and turns the file off.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(auto trace, TraceFile::Open(folder + "/policy.trace"));
//   trace->Append("push w3 based-on=v1");
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/files/disk.h"

namespace paceline::telemetry {

// One owner at a time.
class TraceFile {
 public:
  // Opens `path` for appending, and makes it where it is missing. Errors as of Disk if that
  // cannot be done.
  // `disk` outlives the file.
  static StatusOr<std::unique_ptr<TraceFile>> Open(const std::string& path,
                                                   files::Disk& disk = files::SystemDisk());

  // Flushes and closes.
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Adds `line` and its end to the buffer; writes the buffer out when it is full, and may then
  // block as the disk does. `line` holds no line end itself.
  void Append(std::string_view line);

  // Writes out what is buffered.
  void Flush();

  // True once a write failed: nothing more is written.
  bool is_off() const { return is_off_; }

 private:
  TraceFile(files::OpenFile file, files::Disk& disk);

  const files::OpenFile file_;
  files::Disk& disk_;
  std::string buffer_;
  bool is_off_ = false;
};

}  // namespace paceline::telemetry
