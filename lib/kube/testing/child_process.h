// Defines ChildProcess: a program that a test starts, and that dies with it.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(auto etcd, ChildProcess::Start({"/opt/etcd", "--name=x"},
//   "etcd.log")); etcd->Kill();
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::kube::testing {

// One owner at a time. The child is killed when the thread that started it ends.
class ChildProcess {
 public:
  // `arguments` begins with the path of the program; stdout and stderr are appended to `log`.
  // NotFound if there is no such program.
  static StatusOr<std::unique_ptr<ChildProcess>> Start(const std::vector<std::string>& arguments,
                                                       const std::string& log);
  ~ChildProcess();  // Kills.
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool IsRunning();
  void Kill();                   // SIGKILL, and waits.
  void Stop(Duration deadline);  // SIGTERM, waits that long, then SIGKILL.

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;  // -1: gone.
};

// Runs a program to its end. Internal with its output if it does not exit with 0.
Status RunProgram(const std::vector<std::string>& arguments, const std::string& log);

}  // namespace paceline::kube::testing
