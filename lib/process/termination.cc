#include "lib/process/termination.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/base/check.h"

namespace paceline::process {
namespace {

sigset_t Watched() {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGTERM);
  sigaddset(&watched, SIGINT);
  return watched;
}

}  // namespace

void BlockTerminationSignals() {
  const sigset_t watched = Watched();
  PACELINE_CHECK(pthread_sigmask(SIG_BLOCK, &watched, nullptr) == 0, "{}", std::strerror(errno));
}

TerminationSignals::TerminationSignals(std::function<void()> asked)
    : asked_(std::move(asked)),
      stop_descriptor_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Run(); }) {}

TerminationSignals::~TerminationSignals() {
  const uint64_t one = 1;
  (void)!write(stop_descriptor_, &one, sizeof one);
  thread_.join();
  close(stop_descriptor_);
}

void TerminationSignals::Run() {
  const sigset_t watched = Watched();
  const int signals = signalfd(-1, &watched, SFD_CLOEXEC);
  CheckGiven(signals >= 0, "signalfd");
  pollfd descriptors[2] = {{.fd = signals, .events = POLLIN, .revents = 0},
                           {.fd = stop_descriptor_, .events = POLLIN, .revents = 0}};
  bool was_asked = false;
  while (true) {
    if (poll(descriptors, 2, -1) < 0 && errno != EINTR) break;
    if ((descriptors[1].revents & POLLIN) != 0) break;
    if ((descriptors[0].revents & POLLIN) == 0) continue;
    signalfd_siginfo arrived;
    if (read(signals, &arrived, sizeof arrived) != static_cast<ssize_t>(sizeof arrived)) continue;
    if (was_asked) _exit(128 + static_cast<int>(arrived.ssi_signo));
    was_asked = true;
    asked_();
  }
  close(signals);
}

}  // namespace paceline::process
