// Runs a program and appends one line to a file: the seconds that it ran, the seconds of processor
// that it and what it waited for used, and its command. CMake puts it before every test
// (CMAKE_CROSSCOMPILING_EMULATOR); tests/support/costs.py reads the file.
//
//   measured FILE PROGRAM [ARGUMENT]...
//
// It ends as the program does: with its exit status, or by its signal. A program that outlives it
// is killed. Where FILE cannot be written the program runs all the same, and no line is left.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

pid_t program_id = 0;

void HandOn(int signal) {
  if (program_id > 0) kill(program_id, signal);
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// One write, so that lines of tests that run side by side do not mix.
void AppendLine(const char* file, double wall, double cpu, char** command) {
  char figures[64];
  std::snprintf(figures, sizeof figures, "%.3f\t%.3f", wall, cpu);
  std::string line = figures;
  for (; *command != nullptr; ++command) line.append(1, '\t').append(*command);
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  line += '\n';
  const int descriptor = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return;
  if (write(descriptor, line.data(), line.size()) < 0) std::perror(file);
  close(descriptor);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: measured FILE PROGRAM [ARGUMENT]...\n");
    return 2;
  }
  const auto began = std::chrono::steady_clock::now();
  const pid_t self = getpid();
  program_id = fork();
  if (program_id < 0) {
    std::perror("measured: fork");
    return 1;
  }
  if (program_id == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self) _exit(1);  // Killed before the line above.
    execvp(arguments[2], arguments + 2);
    std::fprintf(stderr, "measured: cannot run %s: %s\n", arguments[2], std::strerror(errno));
    _exit(127);
  }
  for (const int signal_number : {SIGTERM, SIGINT, SIGHUP}) signal(signal_number, HandOn);
  int status = 0;
  while (waitpid(program_id, &status, 0) < 0 && errno == EINTR) {
  }
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
  AppendLine(arguments[1], wall.count(), Seconds(usage.ru_utime) + Seconds(usage.ru_stime),
             arguments + 2);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  return 1;
}
