// Defines QueueingReactor: the server's end of one stream, with a queue of what is to be sent.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <grpcpp/support/server_callback.h>

#include "lib/base/limits.h"

namespace paceline::ps {

// Held by shared_ptr: it keeps itself alive from Begin until gRPC is done with it. Hooks run on
// gRPC's threads, at most one Received or Ended at a time; Queue and FinishSoon are thread-safe and
// never block.
template <class In, class Out>
class QueueingReactor : public grpc::ServerBidiReactor<In, Out>,
                        public std::enable_shared_from_this<QueueingReactor<In, Out>> {
 public:
  // Call once, when the whole object is built.
  QueueingReactor* Begin() {
    self_ = this->shared_from_this();
    this->StartRead(&incoming_);
    return this;
  }

  // Sent in order of the calls; dropped once the stream is ending.
  void Queue(Out message) {
    std::lock_guard lock(mutex_);
    if (is_ending_) return;
    outgoing_.push_back(std::move(message));
    WriteNext();
  }

  // Ends the stream after what was queued before.
  void FinishSoon(grpc::Status status) {
    std::lock_guard lock(mutex_);
    End(std::move(status));
  }

  // Ends the stream though the peer may not take what is being sent to it.
  void EndNow(grpc::Status status, grpc::CallbackServerContext& context) {
    // OnDone, after which the context is gone, comes later or has been.
    std::lock_guard alive(done_mutex_);
    if (is_done_) return;
    bool is_stuck = false;
    {
      std::lock_guard lock(mutex_);
      End(std::move(status));
      is_stuck = is_writing_;
    }
    if (is_stuck) context.TryCancel();
  }

  void OnReadDone(bool ok) final {
    if (!ok) return FinishSoon(grpc::Status::OK);
    Received(incoming_);
    incoming_ = In();
    std::lock_guard lock(mutex_);
    is_read_due_ = true;
    ReadNext();
  }

  void OnWriteDone(bool ok) final {
    std::lock_guard lock(mutex_);
    is_writing_ = false;
    if (!outgoing_.empty()) outgoing_.pop_front();
    if (!ok) {
      is_cancelled_ = true;
      End({grpc::StatusCode::UNAVAILABLE, "peer is gone"});
      return;
    }
    WriteNext();
    ReadNext();
  }

  void OnCancel() final {
    std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    End({grpc::StatusCode::CANCELLED, "stream was cancelled"});
  }

  void OnDone() final {
    const std::shared_ptr<QueueingReactor> self = std::move(self_);
    {
      std::lock_guard alive(done_mutex_);
      is_done_ = true;
    }
    Ended();
  }

 protected:
  virtual void Received(const In& message) = 0;
  virtual void Ended() {}  // Once, the last call; nothing is in flight.
  // What is to be sent when the queue is empty, if anything; it may not use Queue or FinishSoon.
  virtual std::optional<Out> Refill() { return std::nullopt; }
  // Refill has something new.
  void Wake() {
    std::lock_guard lock(mutex_);
    WriteNext();
  }

 private:
  // All of these hold the lock. gRPC runs completions on its own threads, never within Start*.
  void ReadNext() {
    if (!is_read_due_ || is_ending_ || outgoing_.size() >= limits::kAnswersWaitingMax) return;
    is_read_due_ = false;
    this->StartRead(&incoming_);
  }

  void WriteNext() {
    if (is_writing_ || is_finished_) return;
    if (outgoing_.empty() && !is_cancelled_) {
      if (std::optional<Out> message = Refill()) outgoing_.push_back(*std::move(message));
    }
    if (!outgoing_.empty() && !is_cancelled_) {
      is_writing_ = true;
      this->StartWrite(&outgoing_.front());
    } else if (is_ending_) {
      is_finished_ = true;
      this->Finish(finish_status_);
    }
  }

  void End(grpc::Status status) {
    if (!is_ending_) {
      is_ending_ = true;
      finish_status_ = std::move(status);
    }
    WriteNext();
  }

  std::mutex done_mutex_;  // Before mutex_; held by nothing that gRPC runs but OnDone.
  bool is_done_ = false;
  std::mutex mutex_;
  In incoming_;
  std::deque<Out> outgoing_;  // The first one is being written, if one is.
  bool is_read_due_ = false;
  bool is_writing_ = false;
  bool is_ending_ = false;
  bool is_cancelled_ = false;
  bool is_finished_ = false;
  grpc::Status finish_status_;
  std::shared_ptr<QueueingReactor> self_;
};

}  // namespace paceline::ps
