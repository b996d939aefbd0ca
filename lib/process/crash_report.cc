#include "lib/process/crash_report.h"

#include <algorithm>
#include <csignal>

#include <absl/base/config.h>
#include <absl/debugging/failure_signal_handler.h>
#include <absl/debugging/stacktrace.h>
#include <absl/debugging/symbolize.h>
#include <execinfo.h>
#include <unistd.h>

namespace paceline::process {
namespace {

constexpr int kFramesMax = 64;
constexpr int kPatienceSeconds = 20;  // A report that takes longer hangs.

// By the tables for exceptions. Abseil's own way follows frame pointers, which neither we nor the
// libraries below us keep: it ends where it begins.
int Unwind(void** frames, int* sizes, int frames_max, int skipped, const void* /*context*/,
           int* dropped) {
  void* found[kFramesMax];
  const int begin = skipped + 1;  // This function is one more.
  const int end = backtrace(found, kFramesMax);
  const int count = std::clamp(end - begin, 0, frames_max);
  std::copy_n(found + begin, count, frames);
  if (sizes != nullptr) std::fill_n(sizes, count, 0);
  if (dropped != nullptr) *dropped = std::max(0, end - begin - count);
  return count;
}

// Abseil hands each part of its report here too, when stderr has it all, and nothing at the end. It
// knows no name of what a library keeps to itself: which library it is, and where in it, then
// helps.
void WritePlaces(const char* part) {
  if (part != nullptr) return;
  void* found[kFramesMax];
  backtrace_symbols_fd(found, backtrace(found, kFramesMax), STDERR_FILENO);
}

}  // namespace

void ReportCrashes(const char* program_path) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
  (void)program_path;
#else
  void* frame = nullptr;
  backtrace(&frame, 1);  // The first call loads a library, which no signal handler may.
  absl::InitializeSymbolizer(program_path);
  absl::SetStackUnwinder(Unwind);
  struct sigaction terminated = {};
  sigaction(SIGTERM, nullptr, &terminated);
  absl::InstallFailureSignalHandler(
      {.alarm_on_failure_secs = kPatienceSeconds, .writerfn = WritePlaces});
  sigaction(SIGTERM, &terminated, nullptr);  // Being asked to go is no crash.
#endif
}

}  // namespace paceline::process
