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
  // The other side is well and asks to wait a moment (ResourceExhausted): a staging slot whose push
  // is answered already, by an order still on its way. A count and a pace of their own: 12 s in
  // all.
  uint32_t busy_attempts_max = 60;
  Duration busy_backoff_min = Seconds(0.001);
  Duration busy_backoff_max = Seconds(0.25);
};

using Sleeper = std::function<void(Duration)>;
Sleeper ThreadSleeper();  // Blocks the calling thread.

// Unavailable, DeadlineExceeded and Aborted; everything else but IsBusy stays as it is, however
// often it is asked.
inline bool IsRetryable(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded || status.code() == StatusCode::kAborted;
}

inline bool IsBusy(const Status& status) { return status.code() == StatusCode::kResourceExhausted; }

inline const Status& StatusOf(const Status& status) { return status; }
template <class T>
const Status& StatusOf(const StatusOr<T>& result) {
  return result.status();
}

// The first answer that is not retryable, or the last one. `call` must be idempotent.
template <class Call>
auto Retry(const RetryPolicy& policy, const Sleeper& sleep, Call call) {
  Duration backoff = policy.backoff_min;
  Duration busy_backoff = policy.busy_backoff_min;
  uint32_t failed = 0;
  uint32_t busy = 0;
  while (true) {
    auto result = call();
    if (IsBusy(StatusOf(result))) {
      if (++busy >= policy.busy_attempts_max) return result;
      sleep(busy_backoff);
      busy_backoff = std::min(busy_backoff * 2, policy.busy_backoff_max);
      continue;
    }
    if (!IsRetryable(StatusOf(result)) || ++failed >= policy.attempts_max) return result;
    sleep(backoff);
    backoff = std::min(backoff * 2, policy.backoff_max);
  }
}

}  // namespace paceline::rpc
