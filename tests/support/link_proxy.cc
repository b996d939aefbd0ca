#include "tests/support/link_proxy.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace paceline::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 20;
constexpr int kBufferBytes = 32768;

union Address {
  sockaddr any;
  sockaddr_in tcp;
  sockaddr_un local;
};

constexpr const char* kUnix = "unix:";

// A socket for `text`, and what to bind it to or to connect it with.
int Open(const std::string& text, Address& address, socklen_t& length) {
  std::memset(&address, 0, sizeof(address));
  const bool is_unix = text.rfind(kUnix, 0) == 0;
  if (is_unix) {
    address.local.sun_family = AF_UNIX;
    text.copy(address.local.sun_path, sizeof(address.local.sun_path) - 1, std::strlen(kUnix));
    length = sizeof(address.local);
  } else {
    address.tcp.sin_family = AF_INET;
    address.tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.tcp.sin_port =
        htons(static_cast<uint16_t>(std::atoi(text.c_str() + text.rfind(':') + 1)));
    length = sizeof(address.tcp);
  }
  const int made = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // Before the connection is there: its window follows from it.
  for (const int option : {SO_RCVBUF, SO_SNDBUF})
    setsockopt(made, SOL_SOCKET, option, &kBufferBytes, sizeof(kBufferBytes));
  return made;
}

bool SendAll(int to, const char* bytes, ssize_t count) {
  while (count > 0) {
    const ssize_t sent = send(to, bytes, static_cast<size_t>(count), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    count -= sent;
  }
  return true;
}

}  // namespace

LinkProxy::LinkProxy(const std::string& listen_at, std::string target)
    : target_(std::move(target)), address_(listen_at) {
  Address address;
  socklen_t length = 0;
  listener_ = Open(listen_at, address, length);
  if (bind(listener_, &address.any, length) != 0 || listen(listener_, 64) != 0) {
    std::perror(listen_at.c_str());
    std::abort();
  }
  if (listen_at.rfind(kUnix, 0) != 0) {
    getsockname(listener_, &address.any, &length);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.tcp.sin_port));
  }
  acceptor_ = std::thread([this] { Accept(); });
}

LinkProxy::~LinkProxy() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  Cut();
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) close(socket);
  close(listener_);
}

void LinkProxy::Thaw() {
  std::lock_guard lock(mutex_);
  is_frozen_ = false;
  changed_.notify_all();
}

void LinkProxy::Cut() {
  is_cut_ = true;
  std::lock_guard lock(mutex_);
  for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
}

void LinkProxy::Accept() {
  while (true) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    ++accepted_;
    Address address;
    socklen_t length = 0;
    const int server = Open(target_, address, length);
    const bool is_there = !is_cut_ && connect(server, &address.any, length) == 0;
    std::lock_guard lock(mutex_);
    if (!is_there || is_cut_) {
      close(client);
      close(server);
      continue;
    }
    sockets_.push_back(client);
    sockets_.push_back(server);
    threads_.emplace_back([this, client, server] { Forward(client, server); });
    threads_.emplace_back([this, client, server] { Forward(server, client); });
  }
}

// False once the proxy ends.
bool LinkProxy::WaitUntilOpen(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  while (!is_stopping_ && (is_frozen_ || Clock::now() < until)) {
    if (is_frozen_)
      changed_.wait(lock);
    else
      changed_.wait_until(lock, until);
  }
  return !is_stopping_;
}

void LinkProxy::Forward(int from, int to) {
  char bytes[kPieceBytes];
  auto next = Clock::now();
  while (!is_stopping_) {
    pollfd waited{from, POLLIN, 0};
    if (is_frozen_ || poll(&waited, 1, kPollMs) <= 0) {
      if (!WaitUntilOpen(Clock::now())) break;
      continue;
    }
    const ssize_t count = recv(from, bytes, sizeof(bytes), 0);
    if (count <= 0) break;
    next = std::max(next, Clock::now());
    if (const double rate = rate_; rate > 0) {
      next += std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(static_cast<double>(count) / rate));
    }
    if (!WaitUntilOpen(next + std::chrono::milliseconds(delay_ms_)) || !SendAll(to, bytes, count))
      break;
    passed_ += static_cast<uint64_t>(count);
  }
  // Either end's end is both ends'.
  shutdown(from, SHUT_RDWR);
  shutdown(to, SHUT_RDWR);
}

}  // namespace paceline::testing
