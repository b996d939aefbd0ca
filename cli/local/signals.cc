#include "cli/local/signals.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/base/check.h"

namespace paceline::local {
namespace {

sigset_t Watched() {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  sigaddset(&watched, SIGINT);
  sigaddset(&watched, SIGTERM);
  return watched;
}

}  // namespace

Signals::Signals() {
  const sigset_t watched = Watched();
  PACELINE_CHECK(pthread_sigmask(SIG_BLOCK, &watched, nullptr) == 0, "{}", std::strerror(errno));
  descriptor_ = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
  CheckGiven(descriptor_ >= 0, "signalfd");
}

Signals::~Signals() {
  close(descriptor_);
  const sigset_t watched = Watched();
  pthread_sigmask(SIG_UNBLOCK, &watched, nullptr);
}

void Signals::Wait(Duration timeout) {
  pollfd descriptor{.fd = descriptor_, .events = POLLIN, .revents = 0};
  const auto milliseconds =
      std::chrono::ceil<std::chrono::milliseconds>(std::max(timeout, Duration::zero()));
  (void)poll(&descriptor, 1, static_cast<int>(std::min<int64_t>(milliseconds.count(), 60'000)));
  signalfd_siginfo arrived;
  while (read(descriptor_, &arrived, sizeof arrived) == static_cast<ssize_t>(sizeof arrived)) {
    if (arrived.ssi_signo == SIGINT || arrived.ssi_signo == SIGTERM) ++interruptions_;
  }
}

}  // namespace paceline::local
