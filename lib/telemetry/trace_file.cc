#include "lib/telemetry/trace_file.h"

#include <span>
#include <utility>

#include "lib/telemetry/log.h"

namespace paceline::telemetry {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;

}  // namespace

StatusOr<std::unique_ptr<TraceFile>> TraceFile::Open(const std::string& path, files::Disk& disk) {
  StatusOr<files::OpenFile> file = disk.Open(path, files::OpenFor::kAppend);
  PACELINE_RETURN_IF_ERROR(Annotate(file.status(), "trace file"));
  return std::unique_ptr<TraceFile>(new TraceFile(*std::move(file), disk));
}

TraceFile::TraceFile(files::OpenFile file, files::Disk& disk)
    : file_(std::move(file)), disk_(disk) {
  buffer_.reserve(2 * kBufferBytes);
}

TraceFile::~TraceFile() {
  Flush();
  (void)disk_.Close(file_);
}

void TraceFile::Append(std::string_view line) {
  if (is_off_) return;
  buffer_.append(line);
  buffer_.push_back('\n');
  if (buffer_.size() >= kBufferBytes) Flush();
}

void TraceFile::Flush() {
  if (buffer_.empty()) return;
  if (const Status status = disk_.Write(file_, std::as_bytes(std::span(buffer_))); !status.ok()) {
    is_off_ = true;
    Log(LogLevel::kWarning, "trace file turned off", {{"error", Message(status)}});
  }
  buffer_.clear();
}

}  // namespace paceline::telemetry
