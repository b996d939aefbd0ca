// Defines DriverPeers: workers and a shard as the driver's bench plays them, who answer what they
// are sent with the next fact that it makes them say.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "lib/coordination/fact.h"
#include "lib/protocol/shard_messages.h"
#include "lib/protocol/worker_messages.h"

namespace paceline::bench {

// Worker i is connection i + 1. What is sent may be sent from any thread; facts are made by one.
class DriverPeers {
 public:
  explicit DriverPeers(uint32_t workers);

  void Sent(uint64_t worker, const protocol::WorkerOrder& order);
  void Sent(const protocol::ShardOrder& order);

  // What they say until training has opened, one after the other.
  std::optional<coordination::Fact> NextOfBirth();
  // The shard's answer, if it owes one; else the push of whoever was sent on first. Nothing if
  // nobody can push: what was measured is not training then.
  std::optional<coordination::Fact> Next();
  coordination::Fact Heartbeat(uint64_t worker) const;
  static coordination::Fact ShardHeartbeat(uint64_t work_done);

 private:
  struct Worker {
    std::deque<protocol::Lease> leases;
    Version pulled;
    uint64_t sequence = 0;
    bool is_answered = true;  // Its last push: with eager pulls the next one waits for that.
    bool is_queued = false;
    uint64_t steps = 0;
  };
  void Queue(uint64_t worker);
  coordination::Fact PushOf(uint64_t index);
  double Chance();

  std::mutex mutex_;
  std::vector<Worker> workers_;
  std::deque<uint64_t> ready_;
  std::deque<protocol::ShardMessage> answers_;
  uint64_t joined_ = 0;
  uint64_t state_ = 1;
};

}  // namespace paceline::bench
