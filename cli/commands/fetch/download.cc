#include "cli/commands/fetch/download.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace paceline::commands {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

bool MayComeLater(const Status& status) {
  switch (status.code()) {
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kResourceExhausted:
    case StatusCode::kInternal:
      return true;
    default:
      return false;
  }
}

Status Download(PartialFile& file, const PieceReader& read, const DownloadOptions& options) {
  uint64_t wanted = std::max(options.piece_bytes_min, options.piece_bytes_max / 8);
  Duration backoff = options.backoff_min;
  Clock::time_point last_progress = Clock::now();
  while (file.bytes_missing() > 0) {
    const uint64_t bytes = std::min(wanted, file.bytes_missing());
    const Clock::time_point asked = Clock::now();
    StatusOr<std::string> piece = read(file.bytes(), bytes, options.piece_deadline);
    if (piece.ok() && piece->size() != bytes)
      piece = Unavailable("{} bytes came, want {}", piece->size(), bytes);
    const Clock::time_point now = Clock::now();
    if (piece.ok()) {
      PACELINE_RETURN_IF_ERROR(file.Append(*piece));
      last_progress = now;
      backoff = options.backoff_min;
      if (now - asked < options.quick) wanted = std::min(wanted * 2, options.piece_bytes_max);
      if (options.progress) options.progress(file.bytes());
      continue;
    }
    if (!MayComeLater(piece.status())) return piece.status();
    if (now - last_progress >= options.patience) return piece.status();
    wanted = std::max(wanted / 4, options.piece_bytes_min);
    std::this_thread::sleep_for(backoff);
    backoff = std::min(backoff * 2, options.backoff_max);
  }
  return OkStatus();
}

}  // namespace paceline::commands
