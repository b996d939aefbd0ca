#include "tests/soak/links.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/check.h"

namespace paceline::soak {
namespace {

constexpr int kPollMilliseconds = 20;  // New rules hold from then on at the latest.
constexpr size_t kPieceBytes = 64 * 1024;
constexpr size_t kSlowPieceBytes = 4 * 1024;

int NewSocket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

sockaddr_un NameOf(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  PACELINE_CHECK(path.size() < sizeof(name.sun_path), "path of a socket is too long: {}", path);
  std::memcpy(name.sun_path, path.data(), path.size());
  return name;
}

pid_t PeerOf(int descriptor) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

}  // namespace

Links::Links(std::string folder, std::vector<std::string> servers,
             std::function<std::string(pid_t)> name_of)
    : folder_(std::move(folder)), name_of_(std::move(name_of)) {
  for (const std::string& server : servers) {
    const std::string path = folder_ + "/" + server + ".sock";
    const sockaddr_un name = NameOf(path);
    const int descriptor = NewSocket();
    PACELINE_CHECK(bind(descriptor, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0 &&
                       listen(descriptor, 64) == 0,
                   "cannot listen on {}: {}", path, std::strerror(errno));
    listeners_.push_back({server, descriptor});
  }
  thread_ = std::thread([this] { Run(); });
}

Links::~Links() {
  is_stopping_ = true;
  thread_.join();
  for (const Connection& connection : connections_) {
    close(connection.there.from);
    close(connection.there.to);
  }
  for (const Listener& listener : listeners_) close(listener.descriptor);
}

std::string Links::AddressOf(const std::string& server) const {
  return "unix:" + folder_ + "/" + server + ".sock";
}

std::vector<Link> Links::Used() const {
  std::lock_guard lock(mutex_);
  std::set<Link> used;
  for (const Connection& connection : connections_) {
    if (!connection.link.from.empty()) used.insert(connection.link);
  }
  return {used.begin(), used.end()};
}

void Links::SetRule(const Link& link, const Rule& rule) {
  std::lock_guard lock(mutex_);
  rules_[link] = rule;
}

void Links::Cut(const Link& link) { SetRule(link, {.is_cut = true}); }
void Links::Silence(const Link& link) { SetRule(link, {.pass = Pass::kNever}); }
void Links::Slow(const Link& link, double bytes_per_second) {
  SetRule(link, {.pass = Pass::kSlowly, .bytes_per_second = bytes_per_second});
}
void Links::Restore(const Link& link) { SetRule(link, {}); }

Links::Rule Links::RuleOf(const Link& link) const {
  const auto found = rules_.find(link);
  return found == rules_.end() ? Rule() : found->second;
}

void Links::Run() {
  while (!is_stopping_) {
    std::vector<pollfd> waited;
    for (const Listener& listener : listeners_) waited.push_back({listener.descriptor, POLLIN, 0});
    {
      std::lock_guard lock(mutex_);
      const Clock::time_point now = Clock::now();
      for (const Connection& connection : connections_) {
        const Rule rule = RuleOf(connection.link);
        if (rule.pass == Pass::kNever) continue;
        for (const Way* way : {&connection.there, &connection.back}) {
          if (way->next > now) continue;
          if (way->held.empty()) waited.push_back({way->from, POLLIN, 0});
          if (!way->held.empty()) waited.push_back({way->to, POLLOUT, 0});
        }
      }
    }
    (void)poll(waited.data(), waited.size(), kPollMilliseconds);
    for (size_t i = 0; i < listeners_.size(); ++i) {
      if ((waited[i].revents & POLLIN) != 0) Accept(listeners_[i]);
    }
    std::lock_guard lock(mutex_);
    std::erase_if(connections_, [this](Connection& connection) {
      if (Serve(connection)) return false;
      close(connection.there.from);
      close(connection.there.to);
      return true;
    });
  }
}

void Links::Accept(const Listener& listener) {
  const int client = accept4(listener.descriptor, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  const Link link{name_of_(PeerOf(client)), listener.server};
  std::lock_guard lock(mutex_);
  const int server = RuleOf(link).is_cut ? -1 : Dial(listener.server);
  if (server < 0) {
    close(client);
    return;
  }
  connections_.push_back({link, {.from = client, .to = server}, {.from = server, .to = client}});
}

int Links::Dial(const std::string& server) const {
  std::string path;
  std::getline(std::ifstream(folder_ + "/" + server + ".target"), path);
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) return -1;
  const sockaddr_un name = NameOf(path);
  const int descriptor = NewSocket();
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0)
    return descriptor;
  close(descriptor);
  return -1;
}

bool Links::Serve(Connection& connection) {
  const Rule rule = RuleOf(connection.link);
  if (rule.is_cut) return false;
  if (rule.pass == Pass::kNever) return true;
  return Move(connection.there, rule) && Move(connection.back, rule);
}

bool Links::Move(Way& way, const Rule& rule) {
  const bool is_slow = rule.pass == Pass::kSlowly;
  const Clock::time_point now = Clock::now();
  if (is_slow && now < way.next) return true;
  if (way.held.empty()) {
    way.held.resize(is_slow ? kSlowPieceBytes : kPieceBytes);
    const ssize_t count = recv(way.from, way.held.data(), way.held.size(), 0);
    way.held.resize(count > 0 ? static_cast<size_t>(count) : 0);
    way.sent = 0;
    if (count == 0) return false;  // Either end's end is both ends'.
    if (count < 0) return errno == EAGAIN || errno == EINTR;
  }
  const ssize_t count =
      send(way.to, way.held.data() + way.sent, way.held.size() - way.sent, MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  way.sent += static_cast<size_t>(count);
  if (is_slow) {
    way.next = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                         static_cast<double>(count) / rule.bytes_per_second));
  }
  if (way.sent == way.held.size()) way.held.clear();
  return true;
}

}  // namespace paceline::soak
