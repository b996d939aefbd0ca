// Defines PortForward: a way to a port of a pod, by `kubectl port-forward` as a child process.
//
// Example:
//   PortForward forward({.pod = "digits-ps-0", .port = 7602, .name_space = "research"});
//   PACELINE_ASSIGN_OR_RETURN(const int port, forward.Open());   // Of 127.0.0.1.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/local/child.h"
#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::commands {

struct PortForwardOptions {
  std::string pod;
  int port = 0;
  std::string name_space;
  std::string context;              // Empty: as kubectl finds it.
  std::string kubeconfig;           // Likewise.
  Duration patience = Seconds(30);  // Until kubectl listens.
};

// The port of 127.0.0.1 at which kubectl says that it listens, once it has said so.
std::optional<int> ForwardedPort(std::string_view output);

// What kubectl says of its troubles: the last lines of its output that are no routine.
std::string Complaint(std::string_view output);

// One owner at a time, and one thread: kubectl dies with it. Listens at 127.0.0.1 alone.
class PortForward {
 public:
  explicit PortForward(PortForwardOptions options) : options_(std::move(options)) {}
  PortForward(const PortForward&) = delete;
  PortForward& operator=(const PortForward&) = delete;
  ~PortForward();

  // Starts kubectl unless it runs, and blocks until it listens, for `patience` at most. NotFound if
  // there is no kubectl in PATH; PermissionDenied, NotFound or Unavailable with what it said where
  // it ended; DeadlineExceeded, and it was stopped.
  StatusOr<int> Open();
  // What it has complained of since it was started; empty: of nothing.
  std::string complaint() const { return Complaint(Output()); }
  // Ends kubectl: the next Open starts another.
  void Close();

 private:
  Status Start();
  std::string Output() const;

  PortForwardOptions options_;
  std::optional<local::Child> kubectl_;
  int output_ = -1;  // A file in memory, to which it writes.
  std::optional<int> port_;
};

}  // namespace paceline::commands
