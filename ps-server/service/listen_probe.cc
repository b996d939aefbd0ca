#include "ps-server/service/listen_probe.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/lower_case.h"

namespace paceline::ps {
namespace {

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
  if (!reason.empty()) reason[0] = LowerCase(reason[0]);
  return Unavailable("cannot listen on {}: {}", address, reason);
}

}  // namespace

Status ProbeUnixAddress(const std::string& address) {
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

StatusOr<HostPort> SplitHostPort(const std::string& address) {
  const auto wrong = [&] {
    return InvalidArgument("address is neither unix:/path nor host:port: {}", address);
  };
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong();
  HostPort split{.host = address.substr(0, colon)};
  if (split.host.front() == '[' && split.host.back() == ']')
    split.host = split.host.substr(1, split.host.size() - 2);
  const char* const end = address.data() + address.size();
  const auto [parsed, error] = std::from_chars(address.data() + colon + 1, end, split.port);
  if (error != std::errc() || parsed != end || split.port < 0 || split.port > 65535) return wrong();
  return split;
}

std::string WithPort(const std::string& address, int port) {
  return address.substr(0, address.rfind(':') + 1) + std::to_string(port);
}

}  // namespace paceline::ps
