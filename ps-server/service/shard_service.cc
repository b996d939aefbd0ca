#include "ps-server/service/shard_service.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

#include "lib/base/limits.h"
#include "lib/rpc/bulk/message_bytes.h"
#include "lib/rpc/grpc_status.h"
#include "lib/telemetry/clock.h"
#include "ps-server/service/incoming_transfer.h"
#include "ps-server/service/outgoing_pull.h"
#include "ps-server/service/queueing_reactor.h"
#include "ps-server/service/refusing_reactor.h"
#include "ps-server/service/rounded_versions.h"

namespace paceline::ps {
namespace {

using grpc::ByteBuffer;
using telemetry::SteadyNow;

// How often the sender of a long transfer is told how far it has come.
constexpr Duration kNotePeriod = std::chrono::seconds(1);

grpc::Status IdleStatus(Duration idle) {
  return rpc::ToGrpcStatus(DeadlineExceeded("no byte moved within {:g} s", ToSeconds(idle)));
}

grpc::ByteBuffer EncodeNote(uint64_t transfer, uint64_t received_bytes) {
  v1::PushReceipt note;
  note.set_transfer(transfer);
  note.set_received_bytes(received_bytes);
  return rpc::ToByteBuffer(note);
}

grpc::ByteBuffer EncodeReceipt(uint64_t transfer, const StatusOr<ReceiptPointer>& answer) {
  v1::PushReceipt receipt;
  receipt.set_transfer(transfer);
  if (answer.ok()) {
    const store::Receipt& sealed = **answer;
    receipt.mutable_block_squared_norms()->Add(sealed.block_squared_norms.begin(),
                                               sealed.block_squared_norms.end());
    receipt.set_is_finite(sealed.is_finite);
  } else {
    receipt.set_code(static_cast<uint32_t>(answer.status().code()));
    receipt.set_message(Message(answer.status()));
  }
  return rpc::ToByteBuffer(receipt);
}

class PushStream final : public QueueingReactor<ByteBuffer, ByteBuffer>, public Moving {
 public:
  PushStream(ShardHost& host, std::shared_ptr<FillMemory> fills, Peer peer, Duration idle,
             grpc::CallbackServerContext& context)
      : host_(host),
        fills_(std::move(fills)),
        peer_(std::move(peer)),
        note_period_(std::min<Duration>(kNotePeriod, idle / 4)),
        context_(context) {}

  Time moved() const override { return moved_; }
  void EndIdle(Duration idle) override { EndNow(IdleStatus(idle), context_); }

 private:
  void Received(const ByteBuffer& message) override {
    StatusOr<rpc::ReceivedChunk> chunk = rpc::ReceivedChunk::Decode(message);
    const Status status = chunk.ok() ? Accept(*chunk) : chunk.status();
    moved_ = transfer_ == nullptr ? Time::max() : SteadyNow();
    if (!status.ok()) FinishSoon(rpc::ToGrpcStatus(status));
  }

  // An error breaks the stream, and so does a push in another's name; other refusals are answers.
  Status Accept(const rpc::ReceivedChunk& chunk) {
    const rpc::ChunkHeader& header = chunk.header();
    if (header.kind == rpc::ChunkKind::kPullAnswer)
      return InvalidArgument("chunk of a pull came with a push");
    if (header.transfer != transfer_number_) {
      // Which worker of a group has that number is known once it is admitted.
      const Status admitted = peer_.IsOfGroup() ? CheckAdmitted(header) : OkStatus();
      if (admitted.ok()) {
        PACELINE_RETURN_IF_ERROR(CheckName(header.worker));
      }
      transfer_number_ = header.transfer;
      transfer_.reset();
      if (!admitted.ok()) return Answer(admitted);
      auto begun = IncomingTransfer::Begin(host_, *fills_, header);
      if (!begun.ok()) return Answer(begun.status());
      if ((*begun)->answered()) return Answer((*begun)->answered());
      transfer_ = *std::move(begun);
      noted_ = SteadyNow();
    }
    if (transfer_ == nullptr) return OkStatus();  // Answered: what was on its way is ignored.
    PACELINE_RETURN_IF_ERROR(transfer_->Add(chunk));
    if (!transfer_->is_complete()) return Note(transfer_->received_bytes());
    const std::unique_ptr<IncomingTransfer> whole = std::move(transfer_);
    return Answer(whole->Seal());
  }

  Status CheckAdmitted(const rpc::ChunkHeader& header) const {
    PACELINE_RETURN_IF_ERROR(host_.Serving(header.generation).status());
    return host_.CheckLife(header.worker, header.incarnation);
  }

  Status CheckName(WorkerId worker) const {
    const protocol::Seat seat = host_.SeatOf(worker);
    return peer_.Check({tls::Role::kWorker, seat.index, seat.group});
  }

  // Its sender has long handed the last byte over when a slow link delivers it.
  Status Note(uint64_t received_bytes) {
    if (const Time now = SteadyNow(); now - noted_ >= note_period_) {
      noted_ = now;
      Queue(EncodeNote(transfer_number_, received_bytes));
    }
    return OkStatus();
  }

  Status Answer(const StatusOr<ReceiptPointer>& answer) {
    Queue(EncodeReceipt(transfer_number_, answer));
    return OkStatus();
  }

  ShardHost& host_;
  const std::shared_ptr<FillMemory> fills_;
  const Peer peer_;
  const Duration note_period_;
  grpc::CallbackServerContext& context_;  // Until the stream is done.
  uint64_t transfer_number_ = 0;
  std::unique_ptr<IncomingTransfer> transfer_;
  Time noted_{};
  std::atomic<Time> moved_ = Time::max();
};

// Chunks are made one at a time, when the one before is written: a slow worker holds a version, not
// a copy of it.
class PullStream final : public QueueingReactor<ByteBuffer, ByteBuffer>, public Moving {
 public:
  PullStream(const ShardHost& host, std::shared_ptr<RoundedVersions> rounded,
             grpc::CallbackServerContext& context)
      : host_(host), rounded_(std::move(rounded)), context_(context) {}

  Time moved() const override { return moved_; }
  void EndIdle(Duration idle) override { EndNow(IdleStatus(idle), context_); }

 private:
  void Received(const ByteBuffer& message) override {
    v1::PullRequest request;
    if (const Status status = rpc::ParseByteBuffer(message, request); !status.ok()) {
      return FinishSoon(rpc::ToGrpcStatus(status));
    }
    bool is_full = false;
    {
      std::lock_guard lock(pulls_mutex_);
      is_full = pulls_.size() >= limits::kPullsWaitingMax;
      if (!is_full) pulls_.emplace_back(host_, *rounded_, request);
    }
    if (is_full)
      return FinishSoon({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many pulls on one stream"});
    Wake();
  }

  std::optional<ByteBuffer> Refill() override {
    std::lock_guard lock(pulls_mutex_);
    moved_ = SteadyNow();  // What was sent before is written.
    while (!pulls_.empty()) {
      if (std::optional<ByteBuffer> chunk = pulls_.front().NextChunk()) return chunk;
      pulls_.pop_front();
    }
    moved_ = Time::max();
    return std::nullopt;
  }

  const ShardHost& host_;
  const std::shared_ptr<RoundedVersions> rounded_;
  grpc::CallbackServerContext& context_;  // Until the stream is done.
  std::mutex pulls_mutex_;
  std::deque<OutgoingPull> pulls_;
  std::atomic<Time> moved_ = Time::max();
};

// A stream that gRPC runs from now on, and that is ended where nothing moves.
template <class Stream>
grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* Watched(const std::shared_ptr<Stream>& stream,
                                                         IdleWatch& watch) {
  watch.Add(stream);
  return stream->Begin();
}

}  // namespace

ShardService::ShardService(ShardHost& host, PeerRoles peers, Duration idle)
    : host_(host),
      peers_(std::move(peers)),
      fills_(std::make_shared<FillMemory>()),
      rounded_(std::make_shared<RoundedVersions>()),
      watch_(idle) {}

ShardService::~ShardService() = default;

grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* ShardService::Push(
    grpc::CallbackServerContext* context) {
  StatusOr<Peer> peer = peers_.Check(*context, {tls::Role::kWorker});
  if (!peer.ok()) return Refuse<ByteBuffer, ByteBuffer>(peer.status());
  return Watched(
      std::make_shared<PushStream>(host_, fills_, *std::move(peer), watch_.idle(), *context),
      watch_);
}

grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* ShardService::Pull(
    grpc::CallbackServerContext* context) {
  const StatusOr<Peer> peer =
      peers_.Check(*context, {tls::Role::kWorker, tls::Role::kEvaluator, tls::Role::kPs});
  if (!peer.ok()) return Refuse<ByteBuffer, ByteBuffer>(peer.status());
  // Of the shards only the one that coordinates has a use for the others' values.
  if (peer->identity() && peer->identity()->role == tls::Role::kPs) {
    if (const Status welcome = peer->Check({tls::Role::kPs, 0}); !welcome.ok())
      return Refuse<ByteBuffer, ByteBuffer>(welcome);
  }
  return Watched(std::make_shared<PullStream>(host_, rounded_, *context), watch_);
}

}  // namespace paceline::ps
