// Defines Links: what a job's processes reach its servers through, so that each link can be cut,
// silenced or slowed down by itself.
//
// A server's link is a Unix socket, SERVER.sock; the server's own socket is named in SERVER.target,
// which whoever starts the server writes, each time before it starts. Who dials is told by the
// socket's peer.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace paceline::soak {

struct Link {
  std::string from, to;  // Processes: "worker-2", "ps-0".
  friend auto operator<=>(const Link&, const Link&) = default;
};

// One thread for all of it. Thread-safe from outside.
class Links {
 public:
  // `name_of` says which process of the job a pid is; empty if none. Called on the links' thread.
  Links(std::string folder, std::vector<std::string> servers,
        std::function<std::string(pid_t)> name_of);
  ~Links();  // Cuts all.
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  std::string AddressOf(const std::string& server) const;  // "unix:..."

  // Links with a connection now, in order.
  std::vector<Link> Used() const;

  // Until Restore. Another word about the same link takes the place of the one before.
  void Cut(const Link& link);      // What is open breaks, what is new is refused.
  void Silence(const Link& link);  // What is open or new stays, and nothing passes.
  void Slow(const Link& link, double bytes_per_second);  // Each way, each connection.
  void Restore(const Link& link);

 private:
  using Clock = std::chrono::steady_clock;
  enum class Pass { kFreely, kNever, kSlowly };
  struct Rule {
    bool is_cut = false;
    Pass pass = Pass::kFreely;
    double bytes_per_second = 0;
  };
  struct Way {  // One direction of a connection.
    int from = -1, to = -1;
    std::vector<char> held = {};
    size_t sent = 0;
    Clock::time_point next{};  // Not before then, on a slow link.
  };
  struct Connection {
    Link link;
    Way there, back;
  };
  struct Listener {
    std::string server;
    int descriptor = -1;
  };

  void Run();
  void Accept(const Listener& listener);
  int Dial(const std::string& server) const;
  Rule RuleOf(const Link& link) const;
  // Whether the connection goes on.
  bool Serve(Connection& connection);
  bool Move(Way& way, const Rule& rule);
  void SetRule(const Link& link, const Rule& rule);

  const std::string folder_;
  const std::function<std::string(pid_t)> name_of_;
  std::vector<Listener> listeners_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::map<Link, Rule> rules_;
  std::list<Connection> connections_;
  std::atomic<bool> is_stopping_ = false;
  std::thread thread_;  // Last: it uses the rest.
};

}  // namespace paceline::soak
