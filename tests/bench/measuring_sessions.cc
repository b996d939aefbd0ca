#include "tests/bench/measuring_sessions.h"

#include <utility>

#include "lib/telemetry/clock.h"

namespace paceline::bench {
namespace {

using telemetry::SteadyNow;

double Microseconds(Duration duration) { return 1e6 * ToSeconds(duration); }

class MeasuringWorkerConnection final : public ps::WorkerConnection {
 public:
  MeasuringWorkerConnection(std::shared_ptr<ps::WorkerConnection> connection,
                            StepRecorder& recorder)
      : connection_(std::move(connection)), recorder_(recorder) {}
  void Send(const protocol::WorkerOrder& order) override {
    connection_->Send(order);
    if (const auto* released = std::get_if<protocol::Released>(&order))
      recorder_.Released(released->version, SteadyNow());
  }
  void Close() override { connection_->Close(); }

 private:
  const std::shared_ptr<ps::WorkerConnection> connection_;
  StepRecorder& recorder_;
};

class MeasuringShardConnection final : public ps::ShardConnection {
 public:
  MeasuringShardConnection(std::shared_ptr<ps::ShardConnection> connection, StepRecorder& recorder)
      : connection_(std::move(connection)), recorder_(recorder) {}
  void Send(const protocol::ShardOrder& order) override {
    if (const auto* commit = std::get_if<protocol::CommitAll>(&order))
      recorder_.CommitSent(commit->commit.version, SteadyNow());
    connection_->Send(order);
  }
  void Close() override { connection_->Close(); }

 private:
  const std::shared_ptr<ps::ShardConnection> connection_;
  StepRecorder& recorder_;
};

}  // namespace

void StepRecorder::PushArrived(Time now) {
  std::lock_guard lock(mutex_);
  last_push_ = now;
}

void StepRecorder::CommitSent(Version version, Time now) {
  std::lock_guard lock(mutex_);
  steps_.try_emplace(version, Step{.push_arrived = last_push_, .commit_sent = now});
}

void StepRecorder::Committed(Version version, Time now) {
  std::lock_guard lock(mutex_);
  if (const auto step = steps_.find(version); step != steps_.end()) step->second.committed = now;
}

void StepRecorder::Released(Version version, Time now) {
  std::lock_guard lock(mutex_);
  const auto found = steps_.find(version);
  if (found == steps_.end()) return;  // Version 0: no step closed it.
  Step& step = found->second;
  if (step.released == 0) step.first_release = now;
  step.last_release = now;
  ++step.released;
}

std::vector<StepTimes> StepRecorder::Steps() const {
  std::lock_guard lock(mutex_);
  std::vector<StepTimes> times;
  for (const auto& [version, step] : steps_) {
    if (step.released != workers_) continue;
    times.push_back({.release = Microseconds(step.last_release - step.push_arrived),
                     .first_release = Microseconds(step.first_release - step.push_arrived),
                     .shards = Microseconds(step.committed - step.commit_sent)});
  }
  return times;
}

coordination::ConnectionId MeasuringSessions::WorkerConnected(
    std::shared_ptr<ps::WorkerConnection> connection) {
  return driver_.WorkerConnected(
      std::make_shared<MeasuringWorkerConnection>(std::move(connection), recorder_));
}

void MeasuringSessions::WorkerSaid(coordination::ConnectionId connection,
                                   protocol::WorkerMessage message) {
  if (std::holds_alternative<protocol::PushDone>(message)) recorder_.PushArrived(SteadyNow());
  driver_.WorkerSaid(connection, std::move(message));
}

void MeasuringSessions::WorkerGone(coordination::ConnectionId connection) {
  driver_.WorkerGone(connection);
}

bool MeasuringSessions::ShardConnected(const protocol::Register& shard,
                                       std::shared_ptr<ps::ShardConnection> connection) {
  return driver_.ShardConnected(
      shard, std::make_shared<MeasuringShardConnection>(std::move(connection), recorder_));
}

void MeasuringSessions::ShardSaid(ShardId shard, protocol::ShardMessage message) {
  if (const auto* committed = std::get_if<protocol::Committed>(&message))
    recorder_.Committed(committed->version, SteadyNow());
  driver_.ShardSaid(shard, std::move(message));
}

void MeasuringSessions::ShardGone(ShardId shard, std::string reason) {
  driver_.ShardGone(shard, std::move(reason));
}

}  // namespace paceline::bench
