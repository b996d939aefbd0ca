#include "lib/telemetry/deadline_watch.h"

#include <chrono>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/telemetry/clock.h"

namespace paceline::telemetry {
namespace {

// Once it is over: a client may go on with the next of several addresses.
constexpr std::chrono::milliseconds kAgain(10);

}  // namespace

DeadlineWatch::DeadlineWatch(Duration timeout) : deadline_(SteadyNow() + timeout) {
  // Signals are for the threads that wait for them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

DeadlineWatch::~DeadlineWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    changed_.notify_all();
  }
  thread_.join();
  if (socket_ >= 0) close(socket_);
}

void DeadlineWatch::Watch(int socket) {
  const int own = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  const std::lock_guard lock(mutex_);
  const int former = std::exchange(socket_, own);
  if (former >= 0) close(former);
}

bool DeadlineWatch::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

void DeadlineWatch::Run() {
  std::unique_lock lock(mutex_);
  const auto is_done = [this] { return is_done_; };
  if (changed_.wait_for(lock, deadline_ - SteadyNow(), is_done)) return;
  is_over_ = true;
  do {
    if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);
  } while (!changed_.wait_for(lock, kAgain, is_done));
}

}  // namespace paceline::telemetry
