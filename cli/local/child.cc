#include "cli/local/child.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/process/thread.h"
#include "lib/process/tree.h"

namespace paceline::local {
namespace {

// For the end of what was killed.
constexpr std::chrono::milliseconds kPause(10);
constexpr int kKillsMax = 100;

// The file of that name in a folder of PATH; `name` itself, if it has a '/' or there is none.
std::string FindProgram(const std::string& name, const Command& command) {
  if (name.find('/') != std::string::npos) return name;
  const char* const own = std::getenv("PATH");
  std::string path = own == nullptr ? "" : own;
  for (const auto& [variable, value] : command.environment) {
    if (variable == "PATH") path = value;
  }
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return name;
}

// Between fork and exec only async-signal-safe calls are allowed, so everything is prepared before.
struct Prepared {
  std::vector<char*> arguments;
  std::vector<std::string> environment_text;
  std::vector<char*> environment;
};

Prepared Prepare(const Command& command) {
  Prepared prepared;
  for (const std::string& argument : command.arguments) {
    prepared.arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  prepared.arguments.push_back(nullptr);
  const auto is_overridden = [&](std::string_view entry) {
    if (!command.mark.empty() && entry.starts_with(process::kMarkVariable)) return true;
    for (const auto& [name, value] : command.environment) {
      if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
        return true;
    }
    return false;
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_overridden(*entry)) prepared.environment_text.emplace_back(*entry);
  }
  for (const auto& [name, value] : command.environment)
    prepared.environment_text.push_back(name + "=" + value);
  if (!command.mark.empty())
    prepared.environment_text.push_back(fmt::format("{}={}", process::kMarkVariable, command.mark));
  for (std::string& text : prepared.environment_text) prepared.environment.push_back(text.data());
  prepared.environment.push_back(nullptr);
  return prepared;
}

[[noreturn]] void BecomeChild(const Command& command, const std::string& program,
                              const Prepared& prepared, int log, int failure_pipe, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // The parent died before the line above.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setpgid(0, 0);  // Ctrl-C at the terminal is the parent's to pass on.
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  for (const int descriptor : command.kept_open) fcntl(descriptor, F_SETFD, 0);
  if (command.niceness > 0) (void)!nice(command.niceness);
  if (command.folder.empty() || chdir(command.folder.c_str()) == 0)
    execve(program.c_str(), prepared.arguments.data(), prepared.environment.data());
  const int error = errno;
  (void)!write(failure_pipe, &error, sizeof error);
  _exit(127);
}

}  // namespace

StatusOr<Child> Child::Start(const Command& command) {
  const int log = open(command.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return Internal("cannot open log {}: {}", command.log_path, std::strerror(errno));
  int failure_pipe[2];
  if (pipe2(failure_pipe, O_CLOEXEC) != 0) {
    close(log);
    return Internal("cannot make a pipe: {}", std::strerror(errno));
  }
  const Prepared prepared = Prepare(command);
  const std::string program = FindProgram(command.arguments[0], command);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) BecomeChild(command, program, prepared, log, failure_pipe[1], parent);
  const int fork_error = errno;
  close(log);
  close(failure_pipe[1]);
  int exec_error = 0;
  const ssize_t got = pid > 0 ? read(failure_pipe[0], &exec_error, sizeof exec_error) : 0;
  close(failure_pipe[0]);
  if (pid < 0)
    return Internal("cannot fork: {}: {}", std::strerror(fork_error), process::kThreadLimits);
  Child child(pid, command.mark);
  if (got == static_cast<ssize_t>(sizeof exec_error)) {
    return Internal("cannot start {}{}: {}", command.arguments[0],
                    command.folder.empty() ? "" : " in folder " + command.folder,
                    std::strerror(exec_error));
  }
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), mark_(std::move(other.mark_)), exit_(other.exit_) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    KillAndReap();
    pid_ = std::exchange(other.pid_, -1);
    mark_ = std::move(other.mark_);
    exit_ = other.exit_;
  }
  return *this;
}

Child::~Child() { KillAndReap(); }

std::optional<Exit> Child::Poll() {
  if (exit_ || pid_ < 0) return exit_;
  siginfo_t how{};
  const bool has_ended =
      waitid(P_PID, static_cast<id_t>(pid_), &how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      how.si_pid == pid_;
  if (has_ended)
    exit_ = how.si_code == CLD_EXITED ? Exit{how.si_status, 0} : Exit{0, how.si_status};
  return exit_;
}

void Child::Signal(int number) {
  if (pid_ > 0 && !Poll()) kill(pid_, number);
}

size_t Child::SignalTree(int number) {
  if (pid_ <= 0) return 0;
  // The group gets it first, and all of it at once: a program that forks all the time cannot outrun
  // that.
  if (number != 0) kill(-pid_, number);
  return process::SignalTree(mark_, pid_, getpid(), number);
}

void Child::KillAndReap() {
  if (pid_ < 0) return;
  // What is being started while it is looked at is found next time.
  for (int i = 0; i < kKillsMax && SignalTree(SIGKILL) > 0; ++i)
    std::this_thread::sleep_for(kPause);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace paceline::local
