#include "lib/telemetry/trace_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "lib/telemetry/log.h"

namespace paceline::telemetry {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;

}  // namespace

StatusOr<std::unique_ptr<TraceFile>> TraceFile::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    const int reason = errno;
    if (reason == ENOENT) return NotFound("trace file has no folder: {}", path);
    return Unavailable("trace file cannot be opened: {}: {}", path, std::strerror(reason));
  }
  return std::unique_ptr<TraceFile>(new TraceFile(path, descriptor));
}

TraceFile::TraceFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {
  buffer_.reserve(2 * kBufferBytes);
}

TraceFile::~TraceFile() {
  Flush();
  close(descriptor_);
}

void TraceFile::Append(std::string_view line) {
  if (is_off_) return;
  buffer_.append(line);
  buffer_.push_back('\n');
  if (buffer_.size() >= kBufferBytes) Flush();
}

void TraceFile::Flush() {
  size_t written = 0;
  while (!is_off_ && written < buffer_.size()) {
    const ssize_t count = write(descriptor_, buffer_.data() + written, buffer_.size() - written);
    if (count >= 0) {
      written += static_cast<size_t>(count);
    } else if (errno != EINTR) {
      is_off_ = true;
      Log(LogLevel::kWarning, "trace file turned off",
          {{"path", path_}, {"error", std::strerror(errno)}});
    }
  }
  buffer_.clear();
}

}  // namespace paceline::telemetry
