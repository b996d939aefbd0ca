#include "lib/telemetry/host_text.h"

#include <cerrno>

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace paceline::telemetry {
namespace {

constexpr const char* kIpv4Loopback = "127.0.0.1";

// Only the kernel's plain word that it has no such address, or no such family, counts.
Loopback LoopbackHere() {
  const int probe = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return errno == EAFNOSUPPORT ? Loopback::kIpv6Alone : Loopback::kHasIpv4;
  const sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const int bound = ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const bool is_missing = bound != 0 && errno == EADDRNOTAVAIL;
  ::close(probe);
  return is_missing ? Loopback::kIpv6Alone : Loopback::kHasIpv4;
}

}  // namespace

std::string HostPort(const std::string& host, int port) {
  const bool is_bare = host.find(':') != std::string::npos && !host.starts_with('[');
  return is_bare ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string HostOf(const std::string& host) {
  static const Loopback here = LoopbackHere();
  return HostOf(host, here);
}

std::string HostOf(const std::string& host, Loopback loopback) {
  if (host == kIpv4Loopback && loopback == Loopback::kIpv6Alone) return "::1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    return host.substr(1, host.size() - 2);
  return host;
}

}  // namespace paceline::telemetry
