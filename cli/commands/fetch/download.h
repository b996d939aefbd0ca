// Defines Download: gets a file piece by piece over a connection that may be slow, or break.
#pragma once

#include <functional>
#include <string>

#include "cli/commands/fetch/partial_file.h"
#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::commands {

// `bytes` bytes from `from` on, all of them, within `deadline`.
using PieceReader =
    std::function<StatusOr<std::string>(uint64_t from, uint64_t bytes, Duration deadline)>;

struct DownloadOptions {
  uint64_t piece_bytes_min = 64 << 10;
  uint64_t piece_bytes_max = 4 << 20;     // What the other side gives at once.
  Duration piece_deadline = Seconds(20);  // Then a smaller one is asked for.
  Duration quick = Seconds(1);            // Sooner than that: a larger one.
  Duration patience = Seconds(120);       // With no piece at all for so long, it is given up.
  Duration backoff_min = Seconds(0.2);    // After a piece that did not come; doubles up to...
  Duration backoff_max = Seconds(5);
  std::function<void(uint64_t bytes)> progress = nullptr;  // Of the whole, after each piece.
};

// Whether the same request may succeed when it is sent again.
bool MayComeLater(const Status& status);

// Until nothing of `file` is missing; how long that takes is bounded by nothing but patience with
// each piece. The first error that trying again does not help against, or, after `patience`, the
// last one. What has come by then is in `file`.
Status Download(PartialFile& file, const PieceReader& read, const DownloadOptions& options = {});

}  // namespace paceline::commands
