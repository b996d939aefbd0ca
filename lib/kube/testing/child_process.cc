#include "lib/kube/testing/child_process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/testing/eventually.h"

namespace paceline::kube::testing {

StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0) return Unavailable("cannot write {}: {}", log, std::strerror(errno));
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    setpgid(0, 0);  // A Ctrl-C is the test's business.
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(output, 1);
    dup2(output, 2);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(output);
  if (pid < 0) return Unavailable("cannot start {}: {}", arguments[0], std::strerror(errno));
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid));
}

ChildProcess::~ChildProcess() { Kill(); }

bool ChildProcess::IsRunning() {
  if (pid_ < 0) return false;
  if (waitpid(pid_, nullptr, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

void ChildProcess::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void ChildProcess::Stop(Duration deadline) {
  if (pid_ < 0) return;
  kill(pid_, SIGTERM);
  paceline::testing::Eventually([this] { return !IsRunning(); }, ToSeconds(deadline),
                                std::chrono::milliseconds(5));
  Kill();
}

Status RunProgram(const std::vector<std::string>& arguments, const std::string& log) {
  PACELINE_ASSIGN_OR_RETURN(const auto program, ChildProcess::Start(arguments, log));
  int state = 0;
  const pid_t pid = program->pid();
  if (waitpid(pid, &state, 0) == pid && WIFEXITED(state) && WEXITSTATUS(state) == 0) {
    return OkStatus();
  }
  std::ifstream file(log);
  std::ostringstream output;
  output << file.rdbuf();
  return Internal("{} {} failed: {}", arguments[0], arguments.size() > 1 ? arguments[1] : "",
                  output.str());
}

}  // namespace paceline::kube::testing
