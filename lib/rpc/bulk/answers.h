// Defines AddReceipt and AddAnswer: how the shards' answers become one.
#pragma once

#include <algorithm>

#include "lib/rpc/bulk/parameter_client.h"

namespace paceline::rpc {

// Call in rank order: every block's sum is added by itself, so that the number of shards changes no
// bit.
template <class Norms>
void AddReceipt(const Norms& block_squared_norms, bool is_finite, PushReport& report) {
  for (const double norm : block_squared_norms) report.squared_norm += norm;
  report.is_finite = report.is_finite && is_finite;
}

inline void AddAnswer(bool is_first, bool is_superseded, Version version, PullReport& report) {
  report.is_superseded = report.is_superseded || is_superseded;
  report.oldest = is_first ? version : std::min(report.oldest, version);
  report.newest = is_first ? version : std::max(report.newest, version);
}

// InvalidArgument if a shard sends the parameters to somebody who wants their average.
inline Status CheckAverage(bool is_wanted, bool is_sent) {
  if (!is_wanted || is_sent) return OkStatus();
  return InvalidArgument(
      "shard sends the parameters where their average was asked for: it is of a release that knows "
      "of none");
}

// InvalidArgument, naming both sizes, if a payload is not as long as the layout.
inline Status CheckSize(const char* what, uint64_t got_bytes, uint64_t want_bytes) {
  if (got_bytes == want_bytes) return OkStatus();
  return InvalidArgument("size of the {} differs: got {} bytes, want {}", what, got_bytes,
                         want_bytes);
}

}  // namespace paceline::rpc
