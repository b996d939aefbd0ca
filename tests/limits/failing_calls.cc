// Makes calls of one kind fail in one program, as a limit of the system does. To be preloaded:
//
//   LD_PRELOAD=libfailing_calls.so FAIL_PROGRAM=paceline-ps FAIL_KIND=thread FAIL_FROM=26
//
// From the 26th on (counted from 0), all calls of that kind in processes of that name fail; with
// FAIL_COUNT=1 only that one. Kinds: thread, mapping, process; and descriptor, where the limit of
// open files becomes as many as the process has at that call.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

struct Plan {
  const char* kind = "";
  long from = 0;
  long count = 0;  // 0: all that come later.
};

Plan ReadPlan() {
  const char* const program = std::getenv("FAIL_PROGRAM");
  const char* const kind = std::getenv("FAIL_KIND");
  const char* const from = std::getenv("FAIL_FROM");
  const char* const count = std::getenv("FAIL_COUNT");
  if (program == nullptr || kind == nullptr || from == nullptr ||
      std::strcmp(program, program_invocation_short_name) != 0)
    return {};
  return {kind, std::atol(from), count == nullptr ? 0 : std::atol(count)};
}

bool Fails(const char* kind, int error) {
  static const Plan plan = ReadPlan();
  static std::atomic<long> calls = 0;
  if (std::strcmp(kind, plan.kind) != 0) return false;
  const long at = calls++;
  if (at < plan.from || (plan.count > 0 && at >= plan.from + plan.count)) return false;
  errno = error;
  return true;
}

// From then on the kernel lets this process have no more than it has: what it closes it may have
// again.
bool NoDescriptor() {
  if (!Fails("descriptor", EMFILE)) return false;
  static const bool is_limited = [] {
    using Duplicate = int (*)(int, int, ...);
    const auto duplicate = reinterpret_cast<Duplicate>(dlsym(RTLD_NEXT, "fcntl"));
    const int next = duplicate(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (next < 0) return true;
    close(next);
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = static_cast<rlim_t>(next);
    setrlimit(RLIMIT_NOFILE, &files);
    return true;
  }();
  (void)is_limited;
  errno = 0;
  return false;
}

template <class Function>
Function Real(Function /*like*/, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define REAL(name) static const auto real = Real(&name, #name)
// Both names of a function that takes the mode of a new file behind its flags.
#define OPEN(name, parameters, arguments)                      \
  int name(parameters, int flags, ...) {                       \
    REAL(name);                                                \
    va_list more;                                              \
    va_start(more, flags);                                     \
    const mode_t mode = va_arg(more, mode_t);                  \
    va_end(more);                                              \
    return NoDescriptor() ? -1 : real(arguments, flags, mode); \
  }
#define COMMA ,

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
  REAL(pthread_create);
  return Fails("thread", EAGAIN) ? EAGAIN : real(thread, attributes, body, argument);
}

int socket(int domain, int type, int protocol) noexcept {
  REAL(socket);
  return NoDescriptor() ? -1 : real(domain, type, protocol);
}
int accept4(int from, sockaddr* address, socklen_t* size, int flags) {
  REAL(accept4);
  return NoDescriptor() ? -1 : real(from, address, size, flags);
}
int accept(int from, sockaddr* address, socklen_t* size) {
  REAL(accept);
  return NoDescriptor() ? -1 : real(from, address, size);
}
int eventfd(unsigned value, int flags) noexcept {
  REAL(eventfd);
  return NoDescriptor() ? -1 : real(value, flags);
}
int epoll_create1(int flags) noexcept {
  REAL(epoll_create1);
  return NoDescriptor() ? -1 : real(flags);
}
int pipe2(int* ends, int flags) noexcept {
  REAL(pipe2);
  return NoDescriptor() ? -1 : real(ends, flags);
}
int memfd_create(const char* name, unsigned flags) noexcept {
  REAL(memfd_create);
  return NoDescriptor() ? -1 : real(name, flags);
}
int dup(int descriptor) noexcept {
  REAL(dup);
  return NoDescriptor() ? -1 : real(descriptor);
}
OPEN(open, const char* path, path)
OPEN(open64, const char* path, path)
OPEN(openat, int folder COMMA const char* path, folder COMMA path)
OPEN(openat64, int folder COMMA const char* path, folder COMMA path)
FILE* fopen(const char* path, const char* mode) {
  REAL(fopen);
  return NoDescriptor() ? nullptr : real(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  REAL(fopen64);
  return NoDescriptor() ? nullptr : real(path, mode);
}

void* mmap(void* at, size_t size, int protection, int flags, int descriptor,
           off_t offset) noexcept {
  REAL(mmap);
  return Fails("mapping", ENOMEM) ? MAP_FAILED
                                  : real(at, size, protection, flags, descriptor, offset);
}
void* mmap64(void* at, size_t size, int protection, int flags, int descriptor,
             off64_t offset) noexcept {
  REAL(mmap64);
  return Fails("mapping", ENOMEM) ? MAP_FAILED
                                  : real(at, size, protection, flags, descriptor, offset);
}

pid_t fork() noexcept {
  REAL(fork);
  return Fails("process", EAGAIN) ? -1 : real();
}

}  // extern "C"
