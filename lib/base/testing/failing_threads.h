// Defines FailingThreads: no thread can be started, as where a limit of processes is reached.
//
// It stands in for pthread_create in the whole program: include it in one source of a test.
#pragma once

#include <atomic>
#include <cerrno>

#include <dlfcn.h>
#include <pthread.h>

namespace paceline::testing {

inline std::atomic<int> threads_left = -1;  // That can be started; negative: any number.

// From now on, until it goes away, so many threads can be started, and no more.
class FailingThreads {
 public:
  explicit FailingThreads(int left) { threads_left = left; }
  ~FailingThreads() { threads_left = -1; }
  FailingThreads(const FailingThreads&) = delete;
  FailingThreads& operator=(const FailingThreads&) = delete;
};

}  // namespace paceline::testing

extern "C" inline __attribute__((used, visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
    void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  int left = paceline::testing::threads_left;
  while (left > 0 && !paceline::testing::threads_left.compare_exchange_weak(left, left - 1)) {
  }
  return left == 0 ? EAGAIN : real(thread, attributes, body, argument);
}
