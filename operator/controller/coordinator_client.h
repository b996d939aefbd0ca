// Defines CoordinatorClient: what the operator asks a job's coordinator and tells it.
#pragma once

#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "operator/controller/certificates.h"

namespace paceline::controller {

// Where a coordinator answers.
struct CoordinatorAddress {
  std::string host;  // The pod's address.
  int port = 0;
  // The name that its certificate must have ("ps.digits.research"), and our own credential. Absent:
  // plain HTTP, of a job with security.mtls Disabled.
  std::optional<std::string> tls_name;
  OwnCredential own;
};

// Blocks, for `timeout` at most. Thread-safe. Unavailable if nobody answers or the wrong one does,
// FailedPrecondition with the answer's text for 4xx.
StatusOr<std::string> CallCoordinator(const CoordinatorAddress& address, const std::string& method,
                                      const std::string& path, const std::string& body,
                                      Duration timeout);

}  // namespace paceline::controller
