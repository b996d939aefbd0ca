// Runs credential plugins: client.authentication.k8s.io.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/kube/client/config.h"

namespace paceline::kube {

struct ExecCredential {
  std::string token;
  std::string client_certificate, client_key;  // PEM.
  std::optional<Time> expires;                 // From the Unix epoch; nothing: until refused.
};

// Blocks until the program has ended, and closed its output, at most config.exec.timeout, or
// `is_stopping` is set; then kills it and all of its process group, which it leads. The error says
// what the program wrote to stderr, or how to install it.
StatusOr<ExecCredential> RunExecPlugin(const Config& config, const std::atomic<bool>& is_stopping);

// What the program printed. InvalidArgument naming the field.
StatusOr<ExecCredential> ParseExecCredential(const std::string& output,
                                             const std::string& api_version);

}  // namespace paceline::kube
