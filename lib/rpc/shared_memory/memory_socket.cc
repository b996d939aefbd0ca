#include "lib/rpc/shared_memory/memory_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/base/limits.h"
#include "lib/telemetry/clock.h"

namespace paceline::rpc {
namespace {

using telemetry::SteadyNow;

constexpr Duration kAskPeriod = std::chrono::milliseconds(100);
constexpr std::string_view kUnixPrefix = "unix:";
constexpr size_t kHeadBytes = 4;  // The length of what follows, lowest first.

std::string Words(int error) { return std::generic_category().message(error); }

Status IsGone() { return Unavailable("shared memory: the other end is gone"); }

// Ready, or what else came about first.
Status Await(int socket, short events, Time until, const MemorySocket::IsCancelled& is_cancelled) {
  while (true) {
    const Duration left = until - SteadyNow();
    if (left <= Duration::zero()) return DeadlineExceeded("shared memory: no answer");
    const Duration wait = is_cancelled ? std::min(left, kAskPeriod) : left;
    const auto milliseconds =
        std::chrono::ceil<std::chrono::milliseconds>(std::min<Duration>(wait, Seconds(60)));
    pollfd waited{.fd = socket, .events = events};
    const int ready = ::poll(&waited, 1, static_cast<int>(milliseconds.count()));
    if (ready > 0) return OkStatus();
    if (ready < 0 && errno != EINTR) return Unavailable("shared memory: {}", Words(errno));
    if (is_cancelled && is_cancelled()) return Cancelled("nobody waits for this transfer any more");
  }
}

bool IsAgain(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// Room for one descriptor beside a message.
union Ancillary {
  cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
};

}  // namespace

StatusOr<std::string> MemorySocketPath(const std::string& address) {
  if (!address.starts_with(kUnixPrefix))
    return InvalidArgument("address is none of this machine alone: {}", address);
  std::string path = address.substr(kUnixPrefix.size()) + ".memory";
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return InvalidArgument("path of the socket is too long: {} has {} bytes, want at most {}", path,
                           path.size(), sizeof(sockaddr_un::sun_path) - 1);
  }
  return path;
}

StatusOr<MemorySocket> MemorySocket::Connect(const std::string& path) {
  telemetry::OwnedSocket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un name{.sun_family = AF_UNIX};
  if (path.size() >= sizeof(name.sun_path))
    return InvalidArgument("path of the socket is too long: {}", path);
  std::memcpy(name.sun_path, path.data(), path.size());
  // A Unix socket connects at once, or there is no room in the queue.
  if (socket.get() < 0 ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0)
    return Unavailable("cannot connect to {}: {}", path, Words(errno));
  return MemorySocket(std::move(socket));
}

StatusOr<MemorySocket::Peer> MemorySocket::peer() const {
  ucred other{};
  socklen_t size = sizeof(other);
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) != 0)
    return Internal("cannot tell who is at the other end: {}", Words(errno));
  return Peer{other.pid, other.uid};
}

Status MemorySocket::Send(const google::protobuf::MessageLite& message, Duration patience,
                          int descriptor) {
  std::string bytes(kHeadBytes, '\0');
  if (!message.AppendToString(&bytes) || bytes.size() - kHeadBytes > limits::kMemoryMessageBytesMax)
    return Internal("message is too long: {} bytes", bytes.size());
  for (size_t i = 0; i < kHeadBytes; ++i)
    bytes[i] = static_cast<char>((bytes.size() - kHeadBytes) >> (8 * i));

  size_t sent = 0;
  while (sent < bytes.size()) {
    iovec part{.iov_base = bytes.data() + sent, .iov_len = bytes.size() - sent};
    msghdr envelope{.msg_iov = &part, .msg_iovlen = 1};
    Ancillary ancillary{};
    if (descriptor >= 0 && sent == 0) {
      envelope.msg_control = &ancillary;
      envelope.msg_controllen = sizeof(ancillary);
      ancillary.header = {
          .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
      std::memcpy(CMSG_DATA(&ancillary.header), &descriptor, sizeof(int));
    }
    const ssize_t count = ::sendmsg(socket_.get(), &envelope, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<size_t>(count);
      continue;
    }
    if (count == 0 || !IsAgain(errno)) return IsGone();
    PACELINE_RETURN_IF_ERROR(Await(socket_.get(), POLLOUT, SteadyNow() + patience, nullptr));
  }
  return OkStatus();
}

Status MemorySocket::Receive(google::protobuf::MessageLite& message, Duration patience,
                             const IsCancelled& is_cancelled) {
  const Time until = SteadyNow() + patience;
  received_.Close();
  std::array<char, kHeadBytes> head{};
  PACELINE_RETURN_IF_ERROR(ReceiveBytes(head, until, is_cancelled));
  size_t size = 0;
  for (size_t i = 0; i < kHeadBytes; ++i)
    size |= static_cast<size_t>(static_cast<unsigned char>(head[i])) << (8 * i);
  if (size > limits::kMemoryMessageBytesMax)
    return InvalidArgument("message is too long: {} bytes", size);
  std::string bytes(size, '\0');
  PACELINE_RETURN_IF_ERROR(ReceiveBytes(bytes, until, is_cancelled));
  if (!message.ParseFromString(bytes)) return InvalidArgument("message is none of ours");
  return OkStatus();
}

Status MemorySocket::ReceiveBytes(std::span<char> into, Time until,
                                  const IsCancelled& is_cancelled) {
  while (!into.empty()) {
    iovec part{.iov_base = into.data(), .iov_len = into.size()};
    Ancillary ancillary{};
    msghdr envelope{.msg_iov = &part,
                    .msg_iovlen = 1,
                    .msg_control = &ancillary,
                    .msg_controllen = sizeof(ancillary)};
    const ssize_t count = ::recvmsg(socket_.get(), &envelope, MSG_CMSG_CLOEXEC);
    const int error = count < 0 ? errno : 0;
    if (count > 0) {
      if (const cmsghdr* const came = CMSG_FIRSTHDR(&envelope);
          came != nullptr && came->cmsg_level == SOL_SOCKET && came->cmsg_type == SCM_RIGHTS) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(came), sizeof(int));
        received_ = telemetry::OwnedSocket(descriptor);
      }
      into = into.subspan(static_cast<size_t>(count));
      continue;
    }
    if (count == 0 || !IsAgain(error)) return IsGone();
    PACELINE_RETURN_IF_ERROR(Await(socket_.get(), POLLIN, until, is_cancelled));
  }
  return OkStatus();
}

void MemorySocket::ShutDown() { ::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace paceline::rpc
