// Defines ProbeAddress and WithPort: what gRPC does not tell about an address to listen on.
#pragma once

#include <string>

#include "lib/base/status.h"

namespace paceline::ps {

// Tries to listen on `address` for a moment. Unavailable, "cannot listen on ADDRESS: address
// already in use" or the like; InvalidArgument if it is neither unix:/path nor host:port. A socket
// file that nobody listens on is removed.
Status ProbeAddress(const std::string& address);

// `address` with `port` in the place of its own; a Unix socket's as it is.
std::string WithPort(const std::string& address, int port);

}  // namespace paceline::ps
