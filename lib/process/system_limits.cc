#include "lib/process/system_limits.h"

#include <cerrno>
#include <exception>
#include <new>
#include <system_error>

#include <fmt/format.h>
#include <sys/resource.h>

#include "lib/process/exit.h"
#include "lib/process/thread.h"

namespace paceline::process {
namespace {

std::string last_word_path;                  // NOLINT: the handler is given nothing.
std::terminate_handler otherwise = nullptr;  // NOLINT

// Empty if it was no limit.
std::string WhichLimit() {
  const std::exception_ptr error = std::current_exception();
  if (error == nullptr) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& failed) {
    if (failed.code() != std::errc::resource_unavailable_try_again) return "";
    return fmt::format("cannot start a thread: {}: {}", failed.code().message(), kThreadLimits);
  } catch (const std::bad_alloc&) {
    return "out of memory: see the limits of the machine and of the container";
  } catch (...) {
    return "";
  }
}

[[noreturn]] void End() {
  const std::string limit = WhichLimit();
  if (limit.empty()) {
    if (otherwise != nullptr) otherwise();
    std::abort();
  }
  fmt::print(stderr, "{}\n", limit);
  SayLastWord(last_word_path, limit);
  LeaveProcess(kExitCannotWorkHere);
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

void SayWhichLimit(const std::string& path) {
  last_word_path = path;
  otherwise = std::set_terminate(End);
}

}  // namespace paceline::process
