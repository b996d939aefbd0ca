#include "lib/process/system_limits.h"

#include <cerrno>
#include <exception>
#include <new>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/process/exit.h"
#include "lib/process/thread.h"

namespace paceline::process {
namespace {

constexpr std::string_view kNoMemory =
    "out of memory: see the limits of the machine and of the container";

std::string last_word_path;                  // NOLINT: the handler is given nothing.
std::terminate_handler otherwise = nullptr;  // NOLINT
int spares[2] = {-1,
                 -1};  // NOLINT: descriptors by which a last word is written where there are none.

std::string NoThread() {
  return fmt::format("cannot start a thread: {}: {}",
                     std::make_error_code(std::errc::resource_unavailable_try_again).message(),
                     kThreadLimits);
}

[[noreturn]] void EndFor(const std::string& limit) {
  fmt::print(stderr, "{}\n", limit);
  for (const int spare : spares) close(spare);
  SayLastWord(last_word_path, limit);
  LeaveProcess(kExitCannotWorkHere);
}

[[noreturn]] void End() {
  if (const std::string limit = WhichLimit(); !limit.empty()) EndFor(limit);
  if (otherwise != nullptr) otherwise();
  std::abort();
}

}  // namespace

void RaiseDescriptorLimit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == files.rlim_max) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);  // To one's own maximum is always allowed.
}

Status CheckDescriptorLimit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= kDescriptorsMin) return OkStatus();
  return CannotWorkHere(
      FailedPrecondition("the limit of open files is {}, want at least {}: raise it (ulimit -n)",
                         files.rlim_cur, kDescriptorsMin));
}

std::string WhichLimit() {
  const std::exception_ptr error = std::current_exception();
  if (error == nullptr) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& failed) {
    if (failed.code() == std::errc::resource_unavailable_try_again) return NoThread();
    if (failed.code() == std::errc::too_many_files_open ||
        failed.code() == std::errc::too_many_files_open_in_system)
      return fmt::format("{}: see the limit of open files (ulimit -n)", failed.what());
    if (failed.code() == std::errc::not_enough_memory) return std::string(kNoMemory);
    return "";
  } catch (const std::bad_alloc&) {
    return std::string(kNoMemory);
  } catch (...) {
    return "";
  }
}

void EndForThreads() { EndFor(NoThread()); }

void SayWhichLimit(const std::string& path) {
  last_word_path = path;
  for (int& spare : spares) {
    if (spare < 0) spare = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  }
  otherwise = std::set_terminate(End);
}

}  // namespace paceline::process
