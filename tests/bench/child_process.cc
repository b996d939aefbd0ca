#include "tests/bench/child_process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::bench {

void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  ::_exit(1);
}

Line::~Line() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Line::Line(Line&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }

void Line::SendBytes(const void* bytes, size_t size) {
  if (::send(descriptor_, bytes, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size))
    Fail("a process of the bench is gone");
}

void Line::ReceiveBytes(void* bytes, size_t size) {
  const ssize_t got = ::recv(descriptor_, bytes, size, 0);
  if (got == 0) ::_exit(0);  // The end of the bench, or of the process that failed and said so.
  if (got != static_cast<ssize_t>(size)) Fail("a process of the bench said something else");
}

ChildProcess::Forked ChildProcess::Fork(const std::function<void(Line&)>& body) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) Fail("no socket pair");
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) Fail("cannot fork");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::close(ends[0]);
    Line line(ends[1]);
    body(line);
    ::_exit(0);
  }
  ::close(ends[1]);
  return {pid, ends[0]};
}

ChildProcess::ChildProcess(const std::function<void(Line&)>& body) : ChildProcess(Fork(body)) {}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(other.pid_), line_(std::move(other.line_)) {
  other.pid_ = -1;
}

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace paceline::bench
