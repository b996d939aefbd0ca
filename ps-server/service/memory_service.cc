#include "ps-server/service/memory_service.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/limits.h"
#include "lib/process/thread.h"
#include "lib/telemetry/log.h"
#include "ps-server/service/listen_probe.h"

namespace paceline::ps {
namespace {

using telemetry::Log;
using telemetry::LogLevel;
using telemetry::OwnedSocket;

constexpr int kBacklog = 128;
constexpr int kFullPauseMs = 100;
constexpr Duration kPatience = std::chrono::seconds(1);
// What a process has open beside its connections that share memory, and what each of these takes at
// most: the socket, its process, two slots, and a share of the published versions.
constexpr size_t kOtherDescriptors = 64;
constexpr size_t kDescriptorsEach = 6;

size_t ConnectionsMax() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return limits::kMemoryConnectionsMax;
  const size_t all = limit.rlim_cur;
  const size_t most = all <= kOtherDescriptors ? 0 : (all - kOtherDescriptors) / kDescriptorsEach;
  return std::min(most, limits::kMemoryConnectionsMax);
}

// The first thing that whoever connects hears. It is short: a new connection has room for it.
Status Welcome(rpc::MemorySocket& connection, const Status& status) {
  v1::MemoryAnswer answer;
  answer.set_code(static_cast<uint32_t>(status.code()));
  answer.set_message(Message(status));
  return connection.Send(answer, kPatience);
}

// It takes sockets instead.
void Refuse(rpc::MemorySocket& connection, const Status& why) {
  Log(LogLevel::kWarning, "shared memory is refused", {{"reason", Message(why)}});
  (void)Welcome(connection, why);
}

}  // namespace

StatusOr<std::unique_ptr<MemoryService>> MemoryService::Start(ShardHost& host,
                                                              const std::string& address) {
  PACELINE_ASSIGN_OR_RETURN(std::string path, rpc::MemorySocketPath(address));
  PACELINE_RETURN_IF_ERROR(ProbeUnixAddress(std::string(kUnixPrefix) + path));
  OwnedSocket listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  OwnedSocket wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  OwnedSocket ended(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  sockaddr_un name{.sun_family = AF_UNIX};
  std::memcpy(name.sun_path, path.data(), path.size());
  if (listening.get() < 0 || wake.get() < 0 || ended.get() < 0 ||
      ::bind(listening.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 ||
      ::listen(listening.get(), kBacklog) != 0) {
    return Unavailable("cannot listen on {}: {}", path, std::generic_category().message(errno));
  }
  return std::unique_ptr<MemoryService>(new MemoryService(
      host, std::move(path), std::move(listening), std::move(wake), std::move(ended)));
}

MemoryService::MemoryService(ShardHost& host, std::string path, OwnedSocket listening,
                             OwnedSocket wake, OwnedSocket ended)
    : host_(host),
      path_(std::move(path)),
      listening_(std::move(listening)),
      wake_(std::move(wake)),
      ended_(std::move(ended)),
      thread_([this] { Run(); }) {}

MemoryService::~MemoryService() {
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
  thread_.join();
  ::unlink(path_.c_str());
  for (Running& each : running_) each.session->ShutDown();
  for (Running& each : running_) each.thread.join();
}

void MemoryService::Run() {
  while (true) {
    pollfd waited[] = {{.fd = listening_.get(), .events = POLLIN},
                       {.fd = wake_.get(), .events = POLLIN},
                       {.fd = ended_.get(), .events = POLLIN}};
    if (::poll(waited, 3, -1) < 0 && errno != EINTR) return;
    if (waited[1].revents != 0) return;
    if (waited[2].revents != 0) {
      uint64_t many = 0;
      (void)!::read(ended_.get(), &many, sizeof(many));
      ForgetEnded();  // What they had open is closed now, not when somebody comes.
    }
    if (waited[0].revents == 0) continue;
    OwnedSocket socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    ForgetEnded();
    if (socket.get() >= 0) {
      LetIn(std::move(socket));
    } else if (telemetry::IsOutOfDescriptors(errno)) {
      // Whoever waits stays in the queue, and the listening socket ready.
      ::poll(&waited[1], 1, kFullPauseMs);
    }
  }
}

void MemoryService::LetIn(OwnedSocket socket) {
  rpc::MemorySocket connection(std::move(socket));
  const StatusOr<rpc::MemorySocket::Peer> peer = connection.peer();
  Status refusal = peer.status();
  if (peer.ok() && peer->user != ::geteuid()) {
    refusal = Unimplemented("memory is shared with user {} alone: got {}", ::geteuid(), peer->user);
  } else if (const size_t most = ConnectionsMax(); running_.size() >= most) {
    refusal = Unimplemented("too many connections share memory: {} are the most allowed", most);
  }
  if (!refusal.ok()) return Refuse(connection, refusal);
  // Nobody is welcome before there is a thread to serve them.
  std::promise<MemorySession*> welcomed;
  StatusOr<std::thread> thread = process::StartThread(
      [this, session = welcomed.get_future()]() mutable { Serve(session.get()); });
  if (!thread.ok()) return Refuse(connection, Unimplemented("{}", Message(thread.status())));
  if (!Welcome(connection, OkStatus()).ok()) {
    welcomed.set_value(nullptr);
    return thread->join();
  }
  Running& each = running_.emplace_back();
  each.session = std::make_unique<MemorySession>(host_, std::move(connection));
  each.thread = *std::move(thread);
  ++connections_;
  welcomed.set_value(each.session.get());
}

void MemoryService::Serve(MemorySession* session) {
  if (session == nullptr) return;
  session->Run();
  --connections_;
  const uint64_t one = 1;
  (void)!::write(ended_.get(), &one, sizeof(one));
}

void MemoryService::ForgetEnded() {
  for (auto it = running_.begin(); it != running_.end();) {
    if (!it->session->has_ended()) {
      ++it;
      continue;
    }
    it->thread.join();
    it = running_.erase(it);
  }
}

}  // namespace paceline::ps
