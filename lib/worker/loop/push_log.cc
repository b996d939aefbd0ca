#include "lib/worker/loop/push_log.h"

#include <utility>

#include <fmt/format.h>

namespace paceline::worker {

class WatchedSession : public Session {
 public:
  WatchedSession(std::shared_ptr<PushLog> log, std::unique_ptr<Session> session)
      : log_(std::move(log)), session_(std::move(session)) {}
  Status Send(const protocol::WorkerMessage& message) override {
    log_->Note(message);
    return session_->Send(message);
  }
  StatusOr<protocol::WorkerOrder> Receive(Duration timeout) override {
    StatusOr<protocol::WorkerOrder> order = session_->Receive(timeout);
    if (order.ok()) log_->Note(*order);
    return order;
  }
  std::optional<std::string> expelled() const override { return session_->expelled(); }
  void OnInterrupt(std::function<void(Sequence)> interrupt) override {
    session_->OnInterrupt(std::move(interrupt));
  }
  void Close() override { session_->Close(); }

 private:
  const std::shared_ptr<PushLog> log_;
  const std::unique_ptr<Session> session_;
};

StatusOr<std::shared_ptr<PushLog>> PushLog::Open(const std::string& folder, WorkerId index,
                                                 const std::string& group) {
  PACELINE_ASSIGN_OR_RETURN(
      auto file, telemetry::TraceFile::Open(fmt::format(
                     "{}/{}-{}.pushes", folder, group.empty() ? "worker" : group, index.value())));
  return std::shared_ptr<PushLog>(new PushLog(std::move(file), index));
}

PushLog::PushLog(std::unique_ptr<telemetry::TraceFile> file, WorkerId index)
    : index_(index), file_(std::move(file)), worker_(index) {}

Connector PushLog::Watch(std::shared_ptr<PushLog> log, Connector connector) {
  Connector watched = connector;
  watched.connect = [log = std::move(log),
                     connect =
                         std::move(connector.connect)]() -> StatusOr<std::unique_ptr<Session>> {
    PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, connect());
    log->Begin();
    return std::make_unique<WatchedSession>(log, std::move(session));
  };
  return watched;
}

void PushLog::Begin() {
  std::lock_guard lock(mutex_);
  leases_.clear();
}

void PushLog::Note(const protocol::WorkerOrder& order) {
  std::lock_guard lock(mutex_);
  const auto hold = [this](const protocol::Lease& lease) {
    if (!lease.ranges.empty()) leases_[lease.id] = lease.ranges;
  };
  if (const auto* admitted = std::get_if<protocol::Admitted>(&order)) {
    incarnation_ = admitted->incarnation;
    worker_ = admitted->worker.value_or(index_);
  } else if (const auto* released = std::get_if<protocol::Released>(&order)) {
    hold(released->lease);
  } else if (const auto* continued = std::get_if<protocol::Continued>(&order)) {
    hold(continued->lease);
  }
}

void PushLog::Note(const protocol::WorkerMessage& message) {
  std::lock_guard lock(mutex_);
  if (const auto* done = std::get_if<protocol::PushDone>(&message)) {
    Write(*done);
    for (const protocol::LeaseId lease : done->leases) leases_.erase(lease);
  } else if (const auto* abandoned = std::get_if<protocol::Abandoned>(&message)) {
    for (const protocol::LeaseId lease : abandoned->leases) leases_.erase(lease);
  }
}

void PushLog::Write(const protocol::PushDone& done) {
  std::string ranges;
  for (const protocol::LeaseId lease : done.leases) {
    for (const protocol::SampleRange& range : leases_[lease]) {
      ranges +=
          fmt::format("{}{}:{}-{}", ranges.empty() ? "" : ",", range.epoch, range.begin, range.end);
    }
  }
  file_->Append(fmt::format(
      "push start={} counter={} worker={} incarnation={} sequence={} based_on={} samples={} "
      "ranges={}",
      done.generation.start, done.generation.counter, worker_.value(), incarnation_.value(),
      done.sequence.value(), done.based_on.value(), done.samples, ranges));
  file_->Flush();  // The process may be killed at any time.
}

}  // namespace paceline::worker
