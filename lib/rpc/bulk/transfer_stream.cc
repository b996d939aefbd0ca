#include "lib/rpc/bulk/transfer_stream.h"

#include <utility>

#include <grpcpp/channel.h>

#include "lib/rpc/grpc_status.h"

namespace paceline::rpc {

TransferStream::TransferStream(std::shared_ptr<grpc::Channel> channel, std::string method,
                               grpc::CompletionQueue& queue)
    : stub_(std::move(channel)),
      method_(std::move(method)),
      queue_(queue),
      tags_{{this, Operation::kStart},
            {this, Operation::kRead},
            {this, Operation::kWrite},
            {this, Operation::kFinish}} {}

void TransferStream::Begin(Transfer& transfer, Time now) {
  transfer_ = &transfer;
  moved_ = now;
  outcome_.reset();
  cancel_reason_.reset();
  if (state_ == State::kOpen) {
    Read();
    WriteNext();
    return;
  }
  state_ = State::kStarting;
  is_broken_ = false;
  context_ = std::make_unique<grpc::ClientContext>();
  call_ = stub_.PrepareCall(context_.get(), method_, &queue_);
  call_->StartCall(&tags_[static_cast<int>(Operation::kStart)]);
}

void TransferStream::Completed(Operation operation, bool ok, Time now) {
  if (ok) moved_ = now;
  switch (operation) {
    case Operation::kStart:
      if (!ok) return Break();
      state_ = State::kOpen;
      Read();
      WriteNext();
      return;
    case Operation::kWrite:
      is_writing_ = false;
      if (!ok || is_broken_) return Break();
      WriteNext();
      return Settle();
    case Operation::kRead:
      is_reading_ = false;
      if (!ok || is_broken_) return Break();
      if (Status status = transfer_->Received(incoming_); !status.ok()) {
        Cancel(std::move(status));
        return Break();
      }
      incoming_.Clear();
      if (!transfer_->is_answered()) Read();
      return Settle();
    case Operation::kFinish:
      return Finished();
  }
}

void TransferStream::Read() {
  is_reading_ = true;
  call_->Read(&incoming_, &tags_[static_cast<int>(Operation::kRead)]);
}

void TransferStream::WriteNext() {
  if (transfer_->is_answered()) return;
  const std::optional<grpc::ByteBuffer> message = transfer_->NextMessage();
  if (!message) return;
  is_writing_ = true;
  call_->Write(*message, &tags_[static_cast<int>(Operation::kWrite)]);
}

void TransferStream::Resume() {
  const bool is_running = state_ == State::kOpen && !outcome_ && !is_broken_ && !cancel_reason_;
  if (is_running && !is_writing_) WriteNext();
}

void TransferStream::Break() {
  is_broken_ = true;
  if (is_reading_ || is_writing_ || state_ == State::kFinishing) return;
  state_ = State::kFinishing;
  call_->Finish(&finish_status_, &tags_[static_cast<int>(Operation::kFinish)]);
}

void TransferStream::Settle() {
  if (transfer_->is_answered() && !is_reading_ && !is_writing_) outcome_ = OkStatus();
}

void TransferStream::Finished() {
  outcome_ = cancel_reason_ ? *cancel_reason_ : ToStatus(finish_status_);
  // The shard cancels what it can end in no other way: a stream that does not move.
  if (outcome_->ok() || (!cancel_reason_ && outcome_->code() == StatusCode::kCancelled))
    outcome_ = Unavailable("shard ended the stream");
  call_.reset();
  context_.reset();
  incoming_.Clear();
  state_ = State::kClosed;
}

void TransferStream::Cancel(Status why) {
  if (outcome_ || cancel_reason_) return;
  cancel_reason_ = std::move(why);
  context_->TryCancel();
}

void TransferStream::Close() {
  if (state_ != State::kOpen) return;
  context_->TryCancel();
  Break();
}

}  // namespace paceline::rpc
