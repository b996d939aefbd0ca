// Defines RetryPolicy and Retry: the one place that repeats calls which failed for a passing
// reason.
//
// Example:
//   Retry(policy, sleep, [&] { return client.Pull(version, exactness, into); });
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::rpc {

struct RetryPolicy {
  uint32_t attempts_max = 4;             // The first one included; at least 1.
  Duration backoff_min = Seconds(0.05);  // Before the second attempt; doubles with each one more...
  Duration backoff_max = Seconds(2);     // ...up to this.
};

using Sleeper = std::function<void(Duration)>;
Sleeper ThreadSleeper();  // Blocks the calling thread.

// Unavailable, DeadlineExceeded and Aborted; everything else stays as it is, however often it is
// asked.
inline bool IsRetryable(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded || status.code() == StatusCode::kAborted;
}

inline const Status& StatusOf(const Status& status) { return status; }
template <class T>
const Status& StatusOf(const StatusOr<T>& result) {
  return result.status();
}

// The first answer that is not retryable, or the last one. `call` must be idempotent.
template <class Call>
auto Retry(const RetryPolicy& policy, const Sleeper& sleep, Call call) {
  Duration backoff = policy.backoff_min;
  for (uint32_t attempt = 1;; ++attempt) {
    auto result = call();
    if (attempt >= policy.attempts_max || !IsRetryable(StatusOf(result))) return result;
    sleep(backoff);
    backoff = std::min(backoff * 2, policy.backoff_max);
  }
}

}  // namespace paceline::rpc
