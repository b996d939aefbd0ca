// Defines ShardWatch: which shards are there, by their heartbeats, and whether they get on with
// what they were told.
//
// An open connection proves nothing. A shard that is alive says so each second; one that has an
// order to carry out gets on with it, block by block, and its heartbeats count that. However large
// a slice is, it is never mistaken for one that hangs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/time.h"

namespace paceline::coordination {

enum class ShardLoss { kSilent, kStalled };

// What a shard owes the coordinator an answer to.
enum class ShardDuty {
  kNone,
  kConfigure,  // Makes the memory of a slice at one stroke.
  kOrder,
};

// A value. Rank 0 is in the coordinator's process: it is never silent.
class ShardWatch {
 public:
  struct Options {
    Duration silent_after = Seconds(6);
    Duration stalled_after = Seconds(30);             // Without a block of an order...
    Duration configure_stalled_after = Seconds(120);  // ...of this one.
  };
  struct Overdue {
    ShardId shard;
    ShardLoss why;
    Duration for_time;
  };

  struct Loss {
    std::string reason;
    Time since;
  };

  explicit ShardWatch(const Options& options) : options_(options) {}

  void Began(ShardId shard, Time now);  // Its session; one before it is forgotten.
  void Ended(ShardId shard, const std::string& reason, Time now);

  // A word of it, which is a sign of life; an answer is progress, too. Of one without a session
  // nothing counts.
  void Heard(ShardId shard, Time now);
  void Answered(ShardId shard, Time now);
  // A heartbeat's count of what it has done; only that it changes matters.
  void Worked(ShardId shard, uint64_t work_done, Time now);
  // Likewise of bytes written into checkpoints. True if there are more.
  bool Saved(ShardId shard, uint64_t saved_bytes);

  // To be told of each shard whenever it may have changed; the clock of a duty begins with it.
  void Owes(ShardId shard, ShardDuty duty, Time now);

  std::vector<Overdue> OverdueBy(Time now) const;
  std::optional<Time> Deadline() const;  // When the next one is overdue.
  // What became of the last session of a shard that has none; null if it never had one.
  const Loss* LossOf(ShardId shard) const;
  // Since when a shard that owes something has done none of it; nothing if it owes nothing.
  std::optional<Time> StandsStillSince(ShardId shard) const;

 private:
  struct Session {
    Time heard;
    Time moved;
    uint64_t work_done = 0;
    uint64_t saved_bytes = 0;
    ShardDuty duty = ShardDuty::kNone;
  };
  std::optional<Time> SilentAt(ShardId shard, const Session& session) const;
  std::optional<Time> StalledAt(const Session& session) const;

  Options options_;
  std::map<ShardId, Session> sessions_;
  std::map<ShardId, Loss> losses_;  // Of those without a session.
};

}  // namespace paceline::coordination
