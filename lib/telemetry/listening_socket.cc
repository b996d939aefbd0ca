#include "lib/telemetry/listening_socket.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/telemetry/host_text.h"

namespace paceline::telemetry {
namespace {

constexpr int kBacklog = 4096;  // The kernel cuts it to its own limit.

StatusOr<OwnedSocket> Listening(OwnedSocket socket, const sockaddr* address, socklen_t length) {
  const int yes = 1;
  // Not SO_REUSEPORT, with which two processes would share a port in silence.
  if (socket.get() < 0 ||
      setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      bind(socket.get(), address, length) != 0 || listen(socket.get(), kBacklog) != 0) {
    return Unavailable("{}", std::strerror(errno));
  }
  return socket;
}

// All addresses of both families. As gRPC's own listeners and those of Go's net do, where nobody
// names an address: a pod does not know which family its cluster has.
StatusOr<OwnedSocket> ListenEverywhere(int port) {
  OwnedSocket socket(::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int no = 0;
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<uint16_t>(port));
  if (socket.get() < 0 || setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) != 0)
    return Unavailable("{}", std::strerror(errno));
  return Listening(std::move(socket), reinterpret_cast<const sockaddr*>(&any), sizeof(any));
}

std::string PeerOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return std::string(reinterpret_cast<const char*>(&v4.sin_addr), sizeof(v4.sin_addr));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  const auto* bytes = reinterpret_cast<const char*>(&v6.sin6_addr);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return std::string(bytes + 12, 4);
  return std::string(bytes, 8);
}

}  // namespace

OwnedSocket::OwnedSocket(OwnedSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

OwnedSocket& OwnedSocket::operator=(OwnedSocket&& other) noexcept {
  Close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

OwnedSocket::~OwnedSocket() { Close(); }

int OwnedSocket::Release() { return std::exchange(descriptor_, -1); }

void OwnedSocket::Close() {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

StatusOr<OwnedSocket> ListenOn(const std::string& named, int port) {
  const std::string host = HostOf(named);
  if (host == "0.0.0.0" || host == "::") {
    // Where the kernel has no IPv6, or the address is in use, what follows says so.
    if (StatusOr<OwnedSocket> socket = ListenEverywhere(port); socket.ok()) return socket;
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  if (getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &found) != 0)
    return Unavailable("cannot listen on {}: the host is unknown", HostPort(host, port));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  Status last = OkStatus();
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    StatusOr<OwnedSocket> socket = Listening(
        OwnedSocket(::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
        address->ai_addr, address->ai_addrlen);
    if (socket.ok()) return socket;
    last = socket.status();
  }
  return Unavailable("cannot listen on {}: {}", HostPort(host, port), Message(last));
}

int PortOf(const OwnedSocket& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET
                   ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                   : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

Accepted Accept(const OwnedSocket& listening) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  const int descriptor = accept4(listening.get(), reinterpret_cast<sockaddr*>(&address), &length,
                                 SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor < 0) return {.socket = OwnedSocket(), .peer = "", .error = errno};
  const int yes = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  return {.socket = OwnedSocket(descriptor), .peer = PeerOf(address), .error = 0};
}

bool IsOutOfDescriptors(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace paceline::telemetry
