#include "lib/telemetry/trace_segments.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "lib/files/segments.h"
#include "lib/telemetry/log.h"

namespace paceline::telemetry {
namespace {

constexpr uint64_t kSegments = 8;  // The first and the newest seven.

}  // namespace

StatusOr<std::unique_ptr<TraceSegments>> TraceSegments::Open(const std::string& path,
                                                             uint64_t bytes_max,
                                                             files::Disk& disk) {
  const std::vector<uint64_t> there = files::SegmentNumbers(path);
  const uint64_t number = there.empty() ? 0 : there.back();
  const std::string newest = files::SegmentPath(path, number);
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<TraceFile> file, TraceFile::Open(newest, disk));
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(newest, error);
  return std::unique_ptr<TraceSegments>(new TraceSegments(
      path, number, error ? 0 : bytes, bytes_max / kSegments, std::move(file), disk));
}

TraceSegments::TraceSegments(std::string path, uint64_t number, uint64_t bytes,
                             uint64_t segment_bytes, std::unique_ptr<TraceFile> file,
                             files::Disk& disk)
    : path_(std::move(path)),
      segment_bytes_(segment_bytes),
      disk_(disk),
      file_(std::move(file)),
      number_(number),
      bytes_(bytes) {}

bool TraceSegments::IsFull() const {
  const std::lock_guard lock(mutex_);
  return IsOn() && bytes_ >= segment_bytes_;
}

bool TraceSegments::is_off() const {
  const std::lock_guard lock(mutex_);
  return !IsOn();
}

void TraceSegments::Append(std::string_view line) {
  const std::lock_guard lock(mutex_);
  AppendLine(line);
}

void TraceSegments::Flush() {
  const std::lock_guard lock(mutex_);
  if (IsOn()) file_->Flush();
}

void TraceSegments::Begin(const std::vector<std::string>& snapshot) {
  const std::lock_guard lock(mutex_);
  if (!IsOn()) return;
  file_.reset();  // Flushed.
  auto next = TraceFile::Open(files::SegmentPath(path_, number_ + 1), disk_);
  if (!next.ok()) return TurnOff(next.status());
  file_ = *std::move(next);
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
  if (has_given_room_) return;
  has_given_room_ = true;
  file_.reset();  // The disk keeps what is removed as long as it is open.
  (void)disk_.Remove(path_);
  for (const uint64_t number : files::SegmentNumbers(path_))
    (void)disk_.Remove(files::SegmentPath(path_, number));
}

void TraceSegments::AppendLine(std::string_view line) {
  if (!IsOn()) return;
  file_->Append(line);
  bytes_ += line.size() + 1;
}

void TraceSegments::TurnOff(const Status& status) {
  file_.reset();
  Log(LogLevel::kWarning, "trace file turned off", {{"error", Message(status)}});
}

}  // namespace paceline::telemetry
