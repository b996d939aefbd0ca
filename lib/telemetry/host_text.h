// Defines how a host is written, as an address of IPv6 too.
#pragma once

#include <string>

namespace paceline::telemetry {

// "127.0.0.1:80", "localhost:80", "[::1]:80".
std::string HostPort(const std::string& host, int port);

// What is dialled or listened on where a text names `host`: "::1" of "[::1]", and of 127.0.0.1 on
// a machine whose loopback has addresses of IPv6 alone. All else as it is.
std::string HostOf(const std::string& host);

// The same on a machine whose loopback is such.
enum class Loopback { kHasIpv4, kIpv6Alone };
std::string HostOf(const std::string& host, Loopback loopback);

}  // namespace paceline::telemetry
