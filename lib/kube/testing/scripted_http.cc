#include "lib/kube/testing/scripted_http.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/check.h"
#include "lib/base/lower_case.h"

namespace paceline::kube::testing {
namespace {

// Reads until `buffer` holds `wanted` bytes. False at the end of the connection.
bool ReadUpTo(int socket, std::string& buffer, size_t wanted) {
  char chunk[16384];
  while (buffer.size() < wanted) {
    const ssize_t n = recv(socket, chunk, sizeof(chunk), 0);
    if (n <= 0) return false;
    buffer.append(chunk, static_cast<size_t>(n));
  }
  return true;
}

bool ReadRequest(int socket, std::string& buffer, ScriptedRequest& request) {
  size_t head = 0;
  while ((head = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!ReadUpTo(socket, buffer, buffer.size() + 1)) return false;
  }
  const std::string text = buffer.substr(0, head);
  size_t line = text.find("\r\n");
  const std::string first = text.substr(0, line);
  const size_t space = first.find(' ');
  request.method = first.substr(0, space);
  request.target = first.substr(space + 1, first.rfind(' ') - space - 1);
  while (line != std::string::npos && line + 2 < text.size()) {
    const size_t next = text.find("\r\n", line + 2);
    const std::string header = text.substr(line + 2, next - line - 2);
    const size_t colon = header.find(':');
    const size_t value = header.find_first_not_of(' ', colon + 1);
    request.headers[LowerCase(header.substr(0, colon))] =
        value == std::string::npos ? "" : header.substr(value);
    line = next;
  }
  buffer.erase(0, head + 4);
  const auto length = request.headers.find("content-length");
  const size_t body = length == request.headers.end() ? 0 : std::stoul(length->second);
  if (!ReadUpTo(socket, buffer, body)) return false;
  request.body = buffer.substr(0, body);
  buffer.erase(0, body);
  return true;
}

}  // namespace

bool ScriptedConnection::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) {
      is_closed_ = true;
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool ScriptedConnection::Answer(int code, std::string_view body, const std::string& more_headers) {
  return Send(
      fmt::format("HTTP/1.1 {} -\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
                  "{}\r\n{}",
                  code, body.size(), more_headers, body));
}

bool ScriptedConnection::StartChunks() {
  return Send(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
}

bool ScriptedConnection::Chunk(std::string_view bytes) {
  return Send(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
}

bool ScriptedConnection::EndChunks() { return Send("0\r\n\r\n"); }

bool ScriptedConnection::WaitForClose(Duration deadline) {
  pollfd waited{.fd = socket_, .events = POLLIN | POLLRDHUP, .revents = 0};
  const int ms =
      static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(deadline).count());
  char byte = 0;
  const bool is_over = poll(&waited, 1, ms) == 1 && recv(socket_, &byte, 1, MSG_PEEK) <= 0;
  if (is_over) is_closed_ = true;
  return is_over;
}

ScriptedHttp::ScriptedHttp(Script script) : script_(std::move(script)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  PACELINE_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     listen(listener_, 64) == 0,
                 "no free port");
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

ScriptedHttp::~ScriptedHttp() {
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    std::lock_guard lock(mutex_);
    for (int socket : sockets_) shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  for (int socket : sockets_) close(socket);
  close(listener_);
}

std::string ScriptedHttp::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

void ScriptedHttp::Accept() {
  while (true) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    ++accepted_;
    std::lock_guard lock(mutex_);
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket] { Serve(socket); });
  }
}

void ScriptedHttp::Serve(int socket) {
  std::string buffer;
  ScriptedRequest request;
  while (ReadRequest(socket, buffer, request)) {
    request.number = ++count_;
    ScriptedConnection connection(socket);
    script_(request, connection);
    if (connection.is_closed()) break;
    request = {};
  }
  shutdown(socket, SHUT_RDWR);
}

}  // namespace paceline::kube::testing
