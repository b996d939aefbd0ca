#include "lib/process/exit.h"

#include <cstdio>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "lib/files/atomic_file.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace paceline::process {
namespace {

constexpr const char* kHereDetail = "paceline.dev/cannot-work-here";

}  // namespace

Status CannotWorkHere(const Status& error) { return WithDetail(error, kHereDetail, ""); }

int ExitCodeFor(const Status& status) {
  if (Detail(status, kHereDetail)) return kExitCannotWorkHere;
  switch (status.code()) {
    case StatusCode::kOk:
      return kExitDone;
    case StatusCode::kCancelled:
      return kExitTerminated;
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kPermissionDenied:
    case StatusCode::kOutOfRange:
    case StatusCode::kUnimplemented:
      return kExitCannotWork;
    default:
      return kExitFailed;
  }
}

void SayLastWord(const std::string& path, const std::string& word) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (path.empty() || !said.insert(path).second) return;
  // Kubernetes mounts this one file into the container: nothing can be renamed to it.
  if (const Status status = files::OverwriteFile(path, word + "\n"); !status.ok())
    fmt::print(stderr, "no last word: {}\n", Message(status));
}

void LeaveProcess(int exit_code) {
  std::fflush(nullptr);
#ifdef __SANITIZE_ADDRESS__
  __lsan_do_leak_check();  // Otherwise a function of atexit does.
#endif
  _exit(exit_code);
}

void EndProcess(const Status& status, const std::string& program, const std::string& path) {
  if (!status.ok()) {
    const std::string words = Message(status);
    fmt::print(stderr, "{}: {}\n", program, words);
    SayLastWord(path, words);
  }
  LeaveProcess(ExitCodeFor(status));
}

}  // namespace paceline::process
