#include "ps-server/service/listen_probe.h"

#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace paceline::ps {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

class Socket {
 public:
  explicit Socket(int family) : descriptor_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

Status CannotListen(const std::string& address, int error) {
  std::string reason = std::generic_category().message(error);
  if (!reason.empty())
    reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
  return Unavailable("cannot listen on {}: {}", address, reason);
}

Status ProbeUnix(const std::string& address) {
  const std::string path = address.substr(kUnixPrefix.size());
  sockaddr_un name{.sun_family = AF_UNIX};
  if (path.empty() || path.size() >= sizeof(name.sun_path)) {
    return InvalidArgument("path of the socket has a wrong length: {} has {} bytes, want 1 to {}",
                           address, path.size(), sizeof(name.sun_path) - 1);
  }
  std::memcpy(name.sun_path, path.data(), path.size());
  struct stat file {};
  if (::lstat(path.c_str(), &file) == 0) {
    if (!S_ISSOCK(file.st_mode)) return CannotListen(address, EEXIST);
    const Socket probe(AF_UNIX);
    if (::connect(probe.descriptor(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) ==
        0) {
      return CannotListen(address, EADDRINUSE);
    }
  }
  ::unlink(path.c_str());
  const Socket probe(AF_UNIX);
  if (::bind(probe.descriptor(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) {
    return CannotListen(address, errno);
  }
  ::unlink(path.c_str());
  return OkStatus();
}

struct HostPort {
  std::string host;
  std::string port;
};

std::optional<HostPort> SplitHostPort(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  HostPort split{.host = address.substr(0, colon), .port = address.substr(colon + 1)};
  if (split.host.front() == '[' && split.host.back() == ']')
    split.host = split.host.substr(1, split.host.size() - 2);
  unsigned port = 0;
  const char* const end = split.port.data() + split.port.size();
  const auto [parsed, error] = std::from_chars(split.port.data(), end, port);
  if (error != std::errc() || parsed != end || port > 65535) return std::nullopt;
  return split;
}

Status ProbeTcp(const std::string& address) {
  const std::optional<HostPort> split = SplitHostPort(address);
  if (!split) return InvalidArgument("address is neither unix:/path nor host:port: {}", address);
  addrinfo hints{.ai_flags = AI_PASSIVE, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(split->host.c_str(), split->port.c_str(), &hints, &found);
      error != 0) {
    return Unavailable("cannot listen on {}: {}", address, ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  const Socket probe(found->ai_family);
  const int on = 1;
  // As gRPC does: connections of an earlier life that are still closing do not matter.
  ::setsockopt(probe.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(probe.descriptor(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(probe.descriptor(), 1) != 0) {
    return CannotListen(address, errno);
  }
  return OkStatus();
}

}  // namespace

Status ProbeAddress(const std::string& address) {
  return address.starts_with(kUnixPrefix) ? ProbeUnix(address) : ProbeTcp(address);
}

std::string WithPort(const std::string& address, int port) {
  if (address.starts_with(kUnixPrefix)) return address;
  return address.substr(0, address.rfind(':') + 1) + std::to_string(port);
}

}  // namespace paceline::ps
