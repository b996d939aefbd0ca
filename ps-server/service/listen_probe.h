// Defines what is asked about an address before gRPC listens on it: gRPC does not say what is
// wrong.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/status.h"

namespace paceline::ps {

inline constexpr std::string_view kUnixPrefix = "unix:";

// Tries to listen on `address`, unix:/path, for a moment. Unavailable, "cannot listen on ADDRESS:
// address already in use" or the like; InvalidArgument if the path's length is wrong. A socket file
// that nobody listens on is removed.
Status ProbeUnixAddress(const std::string& address);

struct HostPort {
  std::string host;  // Without an IPv6 address' brackets.
  int port = 0;
};

// InvalidArgument if it is not host:port.
StatusOr<HostPort> SplitHostPort(const std::string& address);

// `address`, host:port, with `port` in the place of its own.
std::string WithPort(const std::string& address, int port);

}  // namespace paceline::ps
