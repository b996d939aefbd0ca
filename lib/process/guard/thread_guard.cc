#include "lib/process/guard/thread_guard.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include <dlfcn.h>
#include <pthread.h>

#include "lib/process/system_limits.h"
#include "lib/process/thread.h"

namespace paceline::process {
namespace {

// A limit is often met for a moment: others share it.
constexpr std::chrono::milliseconds kPauseMin(10), kPauseMax(500);
constexpr int kAttempts = 10;

std::atomic<bool> is_on = false;  // NOLINT: pthread_create is given nothing.

using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

int CreateOrEnd(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                void* argument) {
  static const auto real = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  std::chrono::milliseconds pause = kPauseMin;
  for (int attempt = 1;; ++attempt) {
    const int error = real(thread, attributes, body, argument);
    if (error != EAGAIN || !is_on || GoesOnWithoutThread::Is()) return error;
    if (attempt == kAttempts) EndForThreads();
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kPauseMax);
  }
}

}  // namespace

void EndWhereNoThreadStarts() { is_on = true; }

}  // namespace paceline::process

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
    void* argument) noexcept {
  return paceline::process::CreateOrEnd(thread, attributes, body, argument);
}
