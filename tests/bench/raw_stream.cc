#include "tests/bench/raw_stream.h"

#include <cstring>
#include <thread>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/bench/child_process.h"

namespace paceline::bench {
namespace {

struct Name {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Name NameOf(const std::string& address) {
  Name name;
  if (address.starts_with("unix:")) {
    sockaddr_un unix_name{.sun_family = AF_UNIX};
    const std::string path = address.substr(5);
    if (path.size() >= sizeof(unix_name.sun_path)) Fail("path of a socket is too long");
    std::memcpy(unix_name.sun_path, path.data(), path.size());
    std::memcpy(&name.storage, &unix_name, sizeof(unix_name));
    name.size = sizeof(unix_name);
  } else {
    sockaddr_in tcp_name{};
    tcp_name.sin_family = AF_INET;
    tcp_name.sin_port =
        htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    tcp_name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::memcpy(&name.storage, &tcp_name, sizeof(tcp_name));
    name.size = sizeof(tcp_name);
  }
  return name;
}

int Open(const Name& name) {
  const int descriptor = ::socket(name.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) Fail("no socket");
  return descriptor;
}

void DoNotWait(int descriptor, const Name& name) {
  const int on = 1;
  if (name.storage.ss_family == AF_INET)
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// False at the end of the stream.
bool ReceiveAll(int descriptor, std::byte* into, size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(descriptor, into, size, 0);
    if (got <= 0) return false;
    into += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

void SendAll(int descriptor, const std::byte* bytes, size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(descriptor, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) Fail("raw stream broke");
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
}

void Serve(int descriptor, uint64_t bytes) {
  std::vector<std::byte> destination(bytes);
  const std::byte answer{1};
  while (ReceiveAll(descriptor, destination.data(), bytes)) SendAll(descriptor, &answer, 1);
  ::close(descriptor);
}

}  // namespace

RawServer::RawServer(const std::string& address, uint64_t bytes) : address_(address) {
  Name name = NameOf(address);
  const int listening = Open(name);
  if (::bind(listening, name.get(), name.size) != 0 || ::listen(listening, 64) != 0 ||
      ::getsockname(listening, name.get(), &name.size) != 0) {
    Fail("raw server cannot listen");
  }
  if (name.storage.ss_family == AF_INET) {
    sockaddr_in bound{};
    std::memcpy(&bound, &name.storage, sizeof(bound));
    address_ = "127.0.0.1:" + std::to_string(ntohs(bound.sin_port));
  }
  std::thread([listening, name, bytes] {
    while (true) {
      const int accepted = ::accept(listening, nullptr, nullptr);
      if (accepted < 0) Fail("raw server cannot accept");
      DoNotWait(accepted, name);
      std::thread(Serve, accepted, bytes).detach();
    }
  }).detach();
}

RawStream::RawStream(const std::string& address) {
  const Name name = NameOf(address);
  descriptor_ = Open(name);
  DoNotWait(descriptor_, name);
  if (::connect(descriptor_, name.get(), name.size) != 0) Fail("raw stream cannot connect");
}

RawStream::~RawStream() { ::close(descriptor_); }

void RawStream::Send(const std::vector<std::byte>& payload, uint64_t count, uint64_t window) {
  uint64_t answered = 0;
  std::byte answer{};
  const auto await = [&] {
    if (!ReceiveAll(descriptor_, &answer, 1)) Fail("raw stream broke");
    ++answered;
  };
  for (uint64_t sent = 0; sent < count; ++sent) {
    while (sent - answered >= window) await();
    SendAll(descriptor_, payload.data(), payload.size());
  }
  while (answered < count) await();
}

std::string CongestionControl() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  char name[32] = "";
  socklen_t size = sizeof(name);
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name, &size) != 0) return "unknown";
  ::close(descriptor);
  return name;
}

}  // namespace paceline::bench
