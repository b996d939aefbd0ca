#include "ps-server/service/bounded_listener.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include <grpcpp/server_builder.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/check.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/log.h"

namespace paceline::ps {
namespace {

constexpr int kAtOnce = 64;
constexpr std::chrono::milliseconds kPause(200);  // Of a full process, and between two looks.
constexpr Duration kWordPeriod = Seconds(60);

BoundedListenerOptions WithinDescriptors(BoundedListenerOptions options) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
    options.all = std::min<size_t>(options.all, std::max<size_t>(files.rlim_cur / 2, 8));
  options.per_peer = std::min(options.per_peer, std::max<size_t>(options.all / 2, 1));
  return options;
}

// No two sockets that are open have the same. 0: there is nothing behind the descriptor.
uint64_t InodeOf(int descriptor) {
  struct stat file {};
  return fstat(descriptor, &file) == 0 ? file.st_ino : 0;
}

}  // namespace

StatusOr<std::unique_ptr<BoundedListener>> BoundedListener::Listen(
    const std::string& host, int port, const BoundedListenerOptions& options) {
  PACELINE_ASSIGN_OR_RETURN(telemetry::OwnedSocket listening, telemetry::ListenOn(host, port));
  // As gRPC does with listeners of its own; accepted sockets inherit it.
  const auto longest = static_cast<unsigned>(
      std::chrono::duration_cast<std::chrono::milliseconds>(options.unacknowledged_longest)
          .count());
  setsockopt(listening.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &longest, sizeof(longest));
  return std::unique_ptr<BoundedListener>(
      new BoundedListener(std::move(listening), WithinDescriptors(options)));
}

BoundedListener::BoundedListener(telemetry::OwnedSocket listening,
                                 const BoundedListenerOptions& options)
    : options_(options),
      listening_(std::move(listening)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  CheckGiven(wake_.get() >= 0, "cannot wait for peers");
}

BoundedListener::~BoundedListener() { Close(); }

void BoundedListener::LetIn(
    std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  thread_ = std::thread([this] { Run(); });
}

void BoundedListener::Close() {
  is_closing_ = true;
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
  listening_.Close();
}

void BoundedListener::Run() {
  while (!is_closing_) {
    // A full process is asked again after a pause: it must not spin.
    pollfd waiting[2] = {{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                         {.fd = is_full_ ? -1 : listening_.get(), .events = POLLIN, .revents = 0}};
    poll(waiting, 2, is_full_ ? static_cast<int>(kPause.count()) : -1);
    is_full_ = false;
    if (!is_closing_) AcceptSome();
    SayWhoWasRefused(telemetry::SteadyNow());
  }
}

void BoundedListener::AcceptSome() {
  for (int i = 0; i < kAtOnce; ++i) {
    telemetry::Accepted accepted = telemetry::Accept(listening_);
    is_full_ = telemetry::IsOutOfDescriptors(accepted.error);
    if (is_full_ || accepted.error == EAGAIN) return;
    if (accepted.error == 0) Take(std::move(accepted));  // Else it went before it was let in.
  }
}

void BoundedListener::Take(telemetry::Accepted accepted) {
  const int descriptor = accepted.socket.get();
  Forget(descriptor);  // It was another connection's, which is closed then.
  if (!HasRoomFor(accepted.peer, telemetry::SteadyNow())) {
    ++refused_;
    return;
  }
  ++peers_[accepted.peer];
  connections_[descriptor] = {.inode = InodeOf(descriptor), .peer = std::move(accepted.peer)};
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listening_.get();
  parameters.fd = accepted.socket.Release();
  acceptor_->HandleNewConnection(&parameters);
}

bool BoundedListener::HasRoomFor(const std::string& peer, Time now) {
  const auto has_room = [&] {
    const auto found = peers_.find(peer);
    return connections_.size() < options_.all &&
           (found == peers_.end() || found->second < options_.per_peer);
  };
  if (has_room()) return true;
  ForgetClosed(now);
  return has_room();
}

void BoundedListener::Forget(int descriptor) {
  const auto gone = connections_.find(descriptor);
  if (gone == connections_.end()) return;
  const auto peer = peers_.find(gone->second.peer);
  if (--peer->second == 0) peers_.erase(peer);
  connections_.erase(gone);
}

// gRPC closes connections and tells nobody.
void BoundedListener::ForgetClosed(Time now) {
  if (now < next_look_) return;
  next_look_ = now + kPause;
  std::vector<int> closed;
  for (const auto& [descriptor, connection] : connections_) {
    if (InodeOf(descriptor) != connection.inode) closed.push_back(descriptor);
  }
  for (const int descriptor : closed) Forget(descriptor);
}

void BoundedListener::SayWhoWasRefused(Time now) {
  const size_t refused = refused_;
  if (refused == said_ || now < next_word_) return;
  next_word_ = now + kWordPeriod;
  Log(telemetry::LogLevel::kWarning, "gRPC connections beyond the limit were refused",
      {{"port", port()}, {"connections", refused - said_}, {"open", connections_.size()}});
  said_ = refused;
}

}  // namespace paceline::ps
