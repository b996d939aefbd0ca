// Defines TcpProxy: a link that a test can cut.
//
// Example:
//   TcpProxy link(server.port());
//   config.server = fmt::format("https://127.0.0.1:{}", link.port());
//   link.Cut();      // breaks what is open, refuses what is new
//   link.Restore();
#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace paceline::kube::testing {

// Hands bytes on between a free port of 127.0.0.1 and another one; a thread per connection.
// Thread-safe. Destruction cuts.
class TcpProxy {
 public:
  explicit TcpProxy(int target_port);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  int port() const { return port_; }
  int connections() const { return accepted_; }
  // Resets every open connection; new ones are closed at once until Restore.
  void Cut();
  void Restore() { is_cut_ = false; }
  // Open connections stay open, but no byte passes, in either direction, until Thaw.
  void Freeze() { is_frozen_ = true; }
  void Thaw();

 private:
  void Accept();
  void Forward(int client, int server);
  void WaitUntilThawed();  // Or cut.

  const int target_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> is_cut_ = false, is_frozen_ = false, is_stopping_ = false;
  std::atomic<int> accepted_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;  // No longer frozen, or cut.
  std::vector<int> sockets_;         // Open ones.
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace paceline::kube::testing
