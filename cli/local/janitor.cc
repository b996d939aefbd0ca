#include "cli/local/janitor.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/process/thread.h"
#include "lib/process/tree.h"

namespace paceline::local {
namespace {

constexpr std::chrono::milliseconds kPause(100);
constexpr int kRoundsMax = 600;
constexpr int kOurs = 3;  // The descriptor by which it sees who it waits for.

// `pkill -9 -f "paceline run"` looks at command lines, and this process has its parent's. Where
// that lies in memory is in the fields 48 and 49 of /proc/self/stat (proc(5)).
void TakeOwnCommandLine() {
  constexpr std::string_view kName = "run-janitor";
  constexpr int kFieldsBetween = 45;  // From the third, behind the name, to the 47th.
  std::ifstream file("/proc/self/stat");
  std::string skipped;
  std::getline(file, skipped, ')');
  for (int i = 0; i < kFieldsBetween; ++i) file >> skipped;
  uintptr_t begin = 0, end = 0;
  if (!(file >> begin >> end) || end <= begin) return;
  char* const words = reinterpret_cast<char*>(begin);
  std::fill(words, reinterpret_cast<char*>(end), '\0');
  kName.copy(words, std::min<size_t>(kName.size(), end - begin - 1));
}

// It holds no terminal, lock or pipe of the run: a shell that waits for a pipe's end does not wait
// for the janitor.
void LetGoOfAllBut(int descriptor) {
  setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(number, SIG_IGN);
  prctl(PR_SET_NAME, "pl-janitor");
  TakeOwnCommandLine();
  (void)!chdir("/");
  dup2(descriptor, kOurs);
  const int null = open("/dev/null", O_RDWR);
  for (int standard = 0; standard < kOurs; ++standard) dup2(null, standard);
  close_range(kOurs + 1, ~0U, 0);
}

[[noreturn]] void WaitAndClean(const std::string& folder) {
  char never = 0;
  while (read(kOurs, &never, 1) < 0 && errno == EINTR) {
  }
  for (int i = 0; i < kRoundsMax; ++i) {
    if (process::SignalTree(folder + "/", 0, getpid(), SIGKILL) == 0) break;
    std::this_thread::sleep_for(kPause);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  _exit(0);
}

}  // namespace

StatusOr<Janitor> Janitor::Start(const std::string& folder) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Internal("cannot make a pipe: {}", std::strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) {
    LetGoOfAllBut(ends[0]);
    WaitAndClean(folder);
  }
  const int error = errno;
  close(ends[0]);
  if (pid < 0) {
    close(ends[1]);
    return Internal("cannot fork: {}: {}", std::strerror(error), process::kThreadLimits);
  }
  return Janitor(pid, ends[1]);
}

Janitor::Janitor(Janitor&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pipe_(std::exchange(other.pipe_, -1)) {}

Janitor& Janitor::operator=(Janitor&& other) noexcept {
  if (this != &other) {
    Dismiss();
    pid_ = std::exchange(other.pid_, -1);
    pipe_ = std::exchange(other.pipe_, -1);
  }
  return *this;
}

void Janitor::Dismiss() {
  if (pid_ < 0) return;
  // Where it was killed and reaped, its number may be another process's by now.
  if (waitpid(pid_, nullptr, WNOHANG) == 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(pipe_);
  pid_ = pipe_ = -1;
}

}  // namespace paceline::local
