// Defines TransferStream: one long-lived raw stream to a shard, on which transfers follow each
// other.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::rpc {

// What travels: messages out, then (or meanwhile) messages in, until it is answered.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Nothing: all is sent, or no more is wanted, or the rest is not there yet (Resume).
  virtual std::optional<grpc::ByteBuffer> NextMessage() = 0;
  virtual Status Received(const grpc::ByteBuffer& message) = 0;  // An error ends the stream.
  virtual bool is_answered() const = 0;
  virtual Status status() const = 0;  // The shard's answer.
};

// Opened when first used and again after it broke. One owner at a time, who takes the completions
// from the queue and hands them to Completed; nothing happens otherwise. At most one message each
// way is in flight.
class TransferStream {
 public:
  // `method`: "/paceline.v1.Shard/Push". The queue must be empty before the stream is destroyed.
  TransferStream(std::shared_ptr<grpc::Channel> channel, std::string method,
                 grpc::CompletionQueue& queue);

  // The tag of each operation in the queue.
  enum class Operation { kStart, kRead, kWrite, kFinish };
  struct Tag {
    TransferStream* stream;
    Operation operation;
  };
  void Completed(Operation operation, bool ok, Time now);

  // Only when no other transfer is running. `transfer` must live until outcome() is set.
  void Begin(Transfer& transfer, Time now);
  // The running transfer may have a message again.
  void Resume();
  // OK once the transfer is answered, whatever the answer; otherwise why the stream broke.
  const std::optional<Status>& outcome() const { return outcome_; }
  // When a message last passed, either way; the transfer's beginning, before any did.
  Time moved() const { return moved_; }
  // The running transfer ends with `why`, as soon as gRPC lets go of it.
  void Cancel(Status why);
  // Ends an idle stream; the queue then delivers what is left.
  void Close();

 private:
  enum class State { kClosed, kStarting, kOpen, kFinishing };

  void Read();
  void WriteNext();
  void Break();   // Finishes as soon as nothing else is pending.
  void Settle();  // Sets the outcome if the transfer is over.
  void Finished();

  grpc::GenericStub stub_;
  const std::string method_;
  grpc::CompletionQueue& queue_;
  Tag tags_[4];

  State state_ = State::kClosed;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::ByteBuffer incoming_;
  grpc::Status finish_status_;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_broken_ = false;

  Transfer* transfer_ = nullptr;
  std::optional<Status> outcome_;
  std::optional<Status> cancel_reason_;
  Time moved_{};
};

}  // namespace paceline::rpc
