#include "ps-server/service/shard_service.h"

#include <deque>
#include <mutex>
#include <utility>

#include "lib/base/limits.h"
#include "lib/rpc/grpc_status.h"
#include "lib/rpc/message_bytes.h"
#include "ps-server/service/incoming_transfer.h"
#include "ps-server/service/outgoing_pull.h"
#include "ps-server/service/queueing_reactor.h"
#include "ps-server/service/refusing_reactor.h"

namespace paceline::ps {
namespace {

using grpc::ByteBuffer;

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

class PushStream final : public QueueingReactor<ByteBuffer, ByteBuffer> {
 public:
  PushStream(ShardHost& host, std::shared_ptr<FillMemory> fills, Peer peer)
      : host_(host), fills_(std::move(fills)), peer_(std::move(peer)) {}

 private:
  void Received(const ByteBuffer& message) override {
    StatusOr<rpc::ReceivedChunk> chunk = rpc::ReceivedChunk::Decode(message);
    const Status status = chunk.ok() ? Accept(*chunk) : chunk.status();
    if (!status.ok()) FinishSoon(rpc::ToGrpcStatus(status));
  }

  // An error breaks the stream, and so does a push in another's name; other refusals are answers.
  Status Accept(const rpc::ReceivedChunk& chunk) {
    const rpc::ChunkHeader& header = chunk.header();
    if (header.kind == rpc::ChunkKind::kPullAnswer)
      return InvalidArgument("chunk of a pull came with a push");
    if (header.transfer != transfer_number_) {
      PACELINE_RETURN_IF_ERROR(peer_.Check({tls::Role::kWorker, header.worker.value()}));
      transfer_number_ = header.transfer;
      transfer_.reset();
      auto begun = IncomingTransfer::Begin(host_, *fills_, header);
      if (!begun.ok()) return Answer(begun.status());
      if ((*begun)->answered()) return Answer((*begun)->answered());
      transfer_ = *std::move(begun);
    }
    if (transfer_ == nullptr) return OkStatus();  // Answered: what was on its way is ignored.
    PACELINE_RETURN_IF_ERROR(transfer_->Add(chunk));
    if (!transfer_->is_complete()) return OkStatus();
    const std::unique_ptr<IncomingTransfer> whole = std::move(transfer_);
    return Answer(whole->Seal());
  }

  Status Answer(const StatusOr<ReceiptPointer>& answer) {
    Queue(EncodeReceipt(transfer_number_, answer));
    return OkStatus();
  }

  ShardHost& host_;
  const std::shared_ptr<FillMemory> fills_;
  const Peer peer_;
  uint64_t transfer_number_ = 0;
  std::unique_ptr<IncomingTransfer> transfer_;
};

// Chunks are made one at a time, when the one before is written: a slow worker holds a version, not
// a copy of it.
class PullStream final : public QueueingReactor<ByteBuffer, ByteBuffer> {
 public:
  explicit PullStream(const ShardHost& host) : host_(host) {}

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
      if (!is_full) pulls_.emplace_back(host_, request);
    }
    if (is_full)
      return FinishSoon({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many pulls on one stream"});
    Wake();
  }

  std::optional<ByteBuffer> Refill() override {
    std::lock_guard lock(pulls_mutex_);
    while (!pulls_.empty()) {
      if (std::optional<ByteBuffer> chunk = pulls_.front().NextChunk()) return chunk;
      pulls_.pop_front();
    }
    return std::nullopt;
  }

  const ShardHost& host_;
  std::mutex pulls_mutex_;
  std::deque<OutgoingPull> pulls_;
};

}  // namespace

ShardService::ShardService(ShardHost& host, PeerRoles peers)
    : host_(host), peers_(std::move(peers)), fills_(std::make_shared<FillMemory>()) {}

ShardService::~ShardService() = default;

grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* ShardService::Push(
    grpc::CallbackServerContext* context) {
  StatusOr<Peer> peer = peers_.Check(*context, {tls::Role::kWorker});
  if (!peer.ok()) return Refuse<ByteBuffer, ByteBuffer>(peer.status());
  return std::make_shared<PushStream>(host_, fills_, *std::move(peer))->Begin();
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
  return std::make_shared<PullStream>(host_)->Begin();
}

}  // namespace paceline::ps
