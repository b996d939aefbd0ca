// Words that processes share: paceline_post and paceline_await.
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>

#include "python/native/paceline_worker.h"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

// Words wrap around: `there` is at `value`, or behind it by less than half of all words.
bool Reached(uint32_t there, uint32_t value) { return static_cast<int32_t>(there - value) >= 0; }

timespec After(int milliseconds) {
  timespec when{};
  clock_gettime(CLOCK_MONOTONIC, &when);
  const int64_t nanoseconds = when.tv_nsec + int64_t{milliseconds} * 1'000'000;
  when.tv_sec += nanoseconds / 1'000'000'000;
  when.tv_nsec = nanoseconds % 1'000'000'000;
  return when;
}

}  // namespace

void paceline_post(uint32_t* word, uint32_t value) {
  std::atomic_ref(*word).store(value, std::memory_order_release);
  // Not private to a process, which is why std::atomic_ref::notify_all would not do.
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

int paceline_await(uint32_t* word, uint32_t value, int timeout_ms) {
  uint32_t there = std::atomic_ref(*word).load(std::memory_order_acquire);
  if (Reached(there, value)) return 1;
  if (timeout_ms <= 0) return 0;
  const timespec deadline = After(timeout_ms);
  do {
    // FUTEX_WAIT_BITSET takes the time that it ends at, which a word that changes often does not
    // move.
    const long waited = syscall(SYS_futex, word, FUTEX_WAIT_BITSET, there, &deadline, nullptr,
                                FUTEX_BITSET_MATCH_ANY);
    there = std::atomic_ref(*word).load(std::memory_order_acquire);
    if (Reached(there, value)) return 1;
    if (waited != 0 && errno == ETIMEDOUT) return 0;
  } while (true);
}
