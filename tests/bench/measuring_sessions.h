// Defines MeasuringSessions: stands between the transport and the driver and writes down when what
// passes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ps-server/coordinator/sessions.h"
#include "tests/bench/control_processes.h"

namespace paceline::bench {

// Of a scheme in which a commit waits for the pushes of all workers. Thread-safe.
class StepRecorder {
 public:
  explicit StepRecorder(uint32_t workers) : workers_(workers) {}

  void PushArrived(Time now);
  void CommitSent(Version version, Time now);  // The first one of a version counts.
  void Committed(Version version, Time now);   // The last one of a version counts.
  void Released(Version version, Time now);

  std::vector<StepTimes> Steps() const;  // Those that released all workers, oldest first.

 private:
  struct Step {
    Time push_arrived, commit_sent, committed, first_release, last_release;
    uint32_t released = 0;
  };
  const uint32_t workers_;
  mutable std::mutex mutex_;
  Time last_push_{};
  std::map<Version, Step> steps_;
};

// `driver` and `recorder` outlive it.
class MeasuringSessions final : public ps::Sessions {
 public:
  MeasuringSessions(ps::Sessions& driver, StepRecorder& recorder)
      : driver_(driver), recorder_(recorder) {}

  coordination::ConnectionId WorkerConnected(
      std::shared_ptr<ps::WorkerConnection> connection) override;
  void WorkerSaid(coordination::ConnectionId connection, protocol::WorkerMessage message) override;
  void WorkerGone(coordination::ConnectionId connection) override;
  bool ShardConnected(const protocol::Register& shard,
                      std::shared_ptr<ps::ShardConnection> connection) override;
  void ShardSaid(ShardId shard, protocol::ShardMessage message) override;
  void ShardGone(ShardId shard, std::string reason) override;

 private:
  ps::Sessions& driver_;
  StepRecorder& recorder_;
};

}  // namespace paceline::bench
