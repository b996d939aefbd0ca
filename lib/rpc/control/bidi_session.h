// Defines BidiSession: the client's end of one long stream of small messages.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/rpc/grpc_status.h"

namespace paceline::rpc {

// Thread-safe. Never destroy it on a thread of gRPC: it may hold the last reference to its channel,
// and gRPC ends its threads for callbacks with the last channel that uses them. A thread of them
// would wait for itself, in vain, and then run on in freed memory.
template <class Out, class In>
class BidiSession final : public grpc::ClientBidiReactor<Out, In> {
 public:
  // `start(context, reactor)` begins the call on a stub.
  template <class StartCall>
  static std::unique_ptr<BidiSession> Start(StartCall start) {
    auto session = std::unique_ptr<BidiSession>(new BidiSession);
    start(&session->context_, session.get());
    session->AddHold();  // Send starts writes from threads that are not gRPC's.
    session->StartRead(&session->incoming_);
    session->StartCall();
    return session;
  }

  // Cancels what Close has not ended.
  ~BidiSession() { Close(Duration::zero()); }

  // Queues; never blocks. Unavailable or Cancelled when the session has ended.
  Status Send(Out message) {
    std::lock_guard lock(mutex_);
    if (is_closing_ || !is_reading_) return EndStatus();
    outgoing_.push_back(std::move(message));
    if (outgoing_.size() == 1) this->StartWrite(&outgoing_.front());
    return OkStatus();
  }

  // From now on `take` is asked first, on gRPC's thread, in order; what it refuses is kept for
  // Receive. It must not block. Call before anything can come in. Once Close has returned, it is
  // not called any more.
  void HandTo(std::function<bool(const In&)> take) {
    std::lock_guard lock(mutex_);
    take_ = std::move(take);
  }

  // Whether nothing comes any more, and nothing is left to be handed out.
  bool IsOver() {
    std::lock_guard lock(mutex_);
    return !is_reading_ && received_.empty();
  }

  // Everything received before the end is handed out first.
  StatusOr<In> Receive(Duration timeout) {
    std::unique_lock lock(mutex_);
    const bool is_due =
        changed_.wait_for(lock, timeout, [this] { return !received_.empty() || end_.has_value(); });
    if (!is_due) return DeadlineExceeded("nothing received within {:.3f} s", ToSeconds(timeout));
    if (received_.empty()) return EndStatus();
    In message = std::move(received_.front());
    received_.pop_front();
    return message;
  }

  // Lets what was sent go out, ends the stream and waits for the peer to agree, at most `patience`;
  // then cancels. gRPC uses nothing of the session when it returns.
  void Close(Duration patience) {
    std::unique_lock lock(mutex_);
    if (!is_closing_) {
      is_closing_ = true;
      if (is_reading_ && outgoing_.empty()) this->StartWritesDone();
    }
    if (!changed_.wait_for(lock, patience, [this] { return end_.has_value(); })) {
      context_.TryCancel();
      changed_.wait(lock, [this] { return end_.has_value(); });
    }
  }

  void OnReadDone(bool ok) override {
    const bool is_taken = ok && Take();
    {
      std::lock_guard lock(mutex_);
      if (ok) {
        if (!is_taken) received_.push_back(std::move(incoming_));
        incoming_ = In();
        this->StartRead(&incoming_);
      } else {
        is_reading_ = false;
      }
    }
    if (!ok) {
      this->RemoveHold();
    } else if (!is_taken) {
      changed_.notify_all();
    }
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    outgoing_.pop_front();
    if (!is_reading_ || !ok) {
      outgoing_.clear();
    } else if (!outgoing_.empty()) {
      this->StartWrite(&outgoing_.front());
    } else if (is_closing_) {
      this->StartWritesDone();
    }
  }

  // The last call of gRPC. Once the lock is free, the session may be gone.
  void OnDone(const grpc::Status& status) override {
    std::lock_guard lock(mutex_);
    end_ = ToStatus(status);
    changed_.notify_all();
  }

 private:
  BidiSession() = default;

  // Without the lock: what takes a message may send one.
  bool Take() {
    std::function<bool(const In&)> take;
    {
      std::lock_guard lock(mutex_);
      take = take_;
    }
    return take && take(incoming_);
  }

  Status EndStatus() const {
    if (is_closing_) return Cancelled("session is closed");
    if (!end_ || end_->ok()) return Unavailable("session was ended by the peer");
    return *end_;
  }

  grpc::ClientContext context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<bool(const In&)> take_;
  In incoming_;               // A read's, or of what handles it.
  std::deque<Out> outgoing_;  // The first one is being written.
  std::deque<In> received_;
  bool is_closing_ = false;
  bool is_reading_ = true;     // False: the stream is over, no operation may be started.
  std::optional<Status> end_;  // gRPC is done.
};

}  // namespace paceline::rpc
