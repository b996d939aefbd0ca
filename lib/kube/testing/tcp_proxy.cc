#include "lib/kube/testing/tcp_proxy.h"

#include <algorithm>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/check.h"

namespace paceline::kube::testing {
namespace {

constexpr int kPollMs = 20;

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Hands on what is there. False at the end.
bool Pass(int from, int to) {
  char bytes[65536];
  ssize_t count = recv(from, bytes, sizeof(bytes), 0);
  if (count <= 0) return false;
  for (const char* at = bytes; count > 0;) {
    const ssize_t sent = send(to, at, static_cast<size_t>(count), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += sent;
    count -= sent;
  }
  return true;
}

// Closes with a reset, as a router that forgot the connection does.
void Reset(int socket) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  close(socket);
}

}  // namespace

TcpProxy::TcpProxy(int target_port) : target_port_(target_port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof(address);
  PACELINE_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     listen(listener_, 64) == 0,
                 "no free port");
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

TcpProxy::~TcpProxy() {
  is_stopping_ = true;
  Cut();
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  close(listener_);
}

void TcpProxy::Cut() {
  std::lock_guard lock(mutex_);
  is_cut_ = true;
  changed_.notify_all();
  for (int socket : sockets_) shutdown(socket, SHUT_RDWR);
}

void TcpProxy::Thaw() {
  std::lock_guard lock(mutex_);
  is_frozen_ = false;
  changed_.notify_all();
}

void TcpProxy::WaitUntilThawed() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !is_frozen_ || is_cut_; });
}

void TcpProxy::Accept() {
  while (true) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    ++accepted_;
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in target = Loopback(target_port_);
    const bool is_there = !is_cut_ && connect(server, reinterpret_cast<const sockaddr*>(&target),
                                              sizeof(target)) == 0;
    std::lock_guard lock(mutex_);
    if (!is_there || is_cut_) {
      Reset(client);
      close(server);
      continue;
    }
    sockets_.push_back(client);
    sockets_.push_back(server);
    threads_.emplace_back([this, client, server] { Forward(client, server); });
  }
}

void TcpProxy::Forward(int client, int server) {
  pollfd waited[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
  bool goes_on = true;
  while (goes_on && !is_cut_) {
    if (is_frozen_) {
      WaitUntilThawed();
      continue;
    }
    if (poll(waited, 2, kPollMs) <= 0) continue;
    if (waited[0].revents != 0) goes_on = Pass(client, server);
    if (goes_on && waited[1].revents != 0) goes_on = Pass(server, client);
  }
  std::lock_guard lock(mutex_);
  std::erase(sockets_, client);
  std::erase(sockets_, server);
  Reset(client);
  Reset(server);
}

}  // namespace paceline::kube::testing
