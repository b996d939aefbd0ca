#include "lib/telemetry/trace_segments.h"

#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "lib/files/segments.h"
#include "lib/telemetry/log.h"

namespace paceline::telemetry {
namespace {

constexpr size_t kSegmentBufferBytes = 64 * 1024;
constexpr uint64_t kSegments = 8;  // The first and the newest seven.

}  // namespace

StatusOr<std::unique_ptr<TraceSegments>> TraceSegments::Open(const std::string& path,
                                                             uint64_t bytes_max,
                                                             files::Disk& disk) {
  const std::vector<uint64_t> there = files::SegmentNumbers(path);
  const uint64_t number = there.empty() ? 0 : there.back();
  StatusOr<files::OpenFile> file =
      disk.Open(files::SegmentPath(path, number), files::OpenFor::kAppend);
  PACELINE_RETURN_IF_ERROR(Annotate(file.status(), "trace"));
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(file->path, error);
  return std::unique_ptr<TraceSegments>(new TraceSegments(
      path, number, error ? 0 : bytes, bytes_max / kSegments, *std::move(file), disk));
}

TraceSegments::TraceSegments(std::string path, uint64_t number, uint64_t bytes,
                             uint64_t segment_bytes, files::OpenFile file, files::Disk& disk)
    : path_(std::move(path)),
      segment_bytes_(segment_bytes),
      disk_(disk),
      file_(std::move(file)),
      number_(number),
      bytes_(bytes) {
  buffer_.reserve(2 * kSegmentBufferBytes);
}

TraceSegments::~TraceSegments() {
  WriteOut();
  if (file_) (void)disk_.Close(*file_);
}

bool TraceSegments::IsFull() const {
  const std::lock_guard lock(mutex_);
  return !is_off_ && bytes_ >= segment_bytes_;
}

bool TraceSegments::is_off() const {
  const std::lock_guard lock(mutex_);
  return is_off_;
}

void TraceSegments::Append(std::string_view line) {
  const std::lock_guard lock(mutex_);
  AppendLine(line);
}

void TraceSegments::Flush() {
  const std::lock_guard lock(mutex_);
  WriteOut();
}

void TraceSegments::Begin(const std::vector<std::string>& snapshot) {
  const std::lock_guard lock(mutex_);
  WriteOut();
  if (is_off_) return;
  StatusOr<files::OpenFile> next =
      disk_.Open(files::SegmentPath(path_, number_ + 1), files::OpenFor::kAppend);
  if (!next.ok()) return TurnOff(next.status());
  (void)disk_.Close(*std::exchange(file_, *std::move(next)));
  ++number_;
  bytes_ = 0;
  for (const std::string& line : snapshot) AppendLine(std::string(files::kSnapshotLine) + line);
  const std::vector<uint64_t> there = files::SegmentNumbers(path_);
  for (size_t i = 0; i + kSegments <= there.size(); ++i) {
    const Status removed = disk_.Remove(files::SegmentPath(path_, there[i]));
    if (!removed.ok()) return TurnOff(removed);
  }
}

void TraceSegments::GiveRoom() {
  const std::lock_guard lock(mutex_);
  if (!file_) return;
  is_off_ = true;
  (void)disk_.Close(*std::exchange(file_, {}));  // Else the disk keeps what is removed.
  (void)disk_.Remove(path_);
  for (const uint64_t number : files::SegmentNumbers(path_))
    (void)disk_.Remove(files::SegmentPath(path_, number));
}

void TraceSegments::AppendLine(std::string_view line) {
  if (is_off_) return;
  buffer_.append(line);
  buffer_.push_back('\n');
  bytes_ += line.size() + 1;
  if (buffer_.size() >= kSegmentBufferBytes) WriteOut();
}

void TraceSegments::WriteOut() {
  if (is_off_ || buffer_.empty()) return;
  const Status written = disk_.Write(*file_, std::as_bytes(std::span(buffer_)));
  buffer_.clear();
  if (!written.ok()) TurnOff(written);
}

void TraceSegments::TurnOff(const Status& status) {
  if (std::exchange(is_off_, true)) return;
  Log(LogLevel::kWarning, "the policy's trace ends here", {{"error", Message(status)}});
}

}  // namespace paceline::telemetry
