// Defines LinkProxy: a link between two processes that a test can slow down, stop, delay or cut.
//
// Example:
//   LinkProxy link("127.0.0.1:0", shard.address());
//   Dial(link.address());
//   link.SetBytesPerSecond(1e6);
//   link.Freeze();   // what is open stays open, and nothing passes
//   link.Cut();      // breaks what is open, refuses what is new
//   link.Restore();
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace paceline::testing {

// Addresses are gRPC's: unix:/path or 127.0.0.1:port; port 0 takes a free one. Each connection has
// two threads, one a direction, and little memory: what a sender sees is the link's pace, not that
// of a buffer before it. Thread-safe; the settings hold from the next bytes on. Destruction cuts.
class LinkProxy {
 public:
  LinkProxy(const std::string& listen, std::string target);
  ~LinkProxy();
  LinkProxy(const LinkProxy&) = delete;
  LinkProxy& operator=(const LinkProxy&) = delete;

  const std::string& address() const { return address_; }
  int connections() const { return accepted_; }
  uint64_t passed_bytes() const { return passed_; }  // Both ways, of all connections.

  // Of each connection, each way; 0: as fast as it goes.
  void SetBytesPerSecond(double rate) { rate_ = rate; }
  // Bytes arrive so much later; what a link holds meanwhile is at most kPieceBytes.
  void SetDelay(std::chrono::milliseconds delay) { delay_ms_ = delay.count(); }
  void Freeze() { is_frozen_ = true; }
  void Thaw();
  void Cut();
  void Restore() { is_cut_ = false; }

  static constexpr size_t kPieceBytes = 16384;

 private:
  void Accept();
  void Forward(int from, int to);
  bool WaitUntilOpen(std::chrono::steady_clock::time_point until);

  const std::string target_;
  std::string address_;
  int listener_ = -1;
  std::atomic<double> rate_ = 0;
  std::atomic<int64_t> delay_ms_ = 0;
  std::atomic<bool> is_cut_ = false, is_frozen_ = false, is_stopping_ = false;
  std::atomic<int> accepted_ = 0;
  std::atomic<uint64_t> passed_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;  // No longer frozen, or stopping.
  std::vector<int> sockets_;         // All that were ever opened; closed at the end.
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace paceline::testing
