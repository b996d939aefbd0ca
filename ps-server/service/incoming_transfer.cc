#include "ps-server/service/incoming_transfer.h"

#include <utility>

namespace paceline::ps {
namespace {

Status CheckSize(uint64_t got_bytes, uint64_t want_bytes) {
  if (got_bytes == want_bytes) return OkStatus();
  return InvalidArgument("size of the slice differs: got {} bytes, want {}", got_bytes, want_bytes);
}

}  // namespace

bool FillMemory::IsComplete(const Fill& fill) const {
  std::lock_guard lock(mutex_);
  return complete_ == fill;
}

void FillMemory::Complete(const Fill& fill) {
  std::lock_guard lock(mutex_);
  complete_ = fill;
}

void FillMemory::Begin() {
  std::lock_guard lock(mutex_);
  complete_.reset();
}

void IncomingTransfer::Place(std::span<std::byte> bytes, uint64_t rounded_end) {
  bytes_ = bytes;
  rounded_end_ = rounded_end;
  coverage_ = rpc::ChunkCoverage(bytes.size());
}

Status IncomingTransfer::Add(const rpc::ReceivedChunk& chunk) {
  PACELINE_RETURN_IF_ERROR(coverage_.Add(chunk));
  PACELINE_RETURN_IF_ERROR(chunk.CopyInto(bytes_, rounded_end_));
  const uint64_t begin = chunk.header().offset_bytes;
  Arrived(begin, begin + chunk.size_bytes());
  return OkStatus();
}

namespace {

class IncomingPush final : public IncomingTransfer {
 public:
  static StatusOr<std::unique_ptr<IncomingTransfer>> Begin(ShardHost& host,
                                                           const rpc::ChunkHeader& first) {
    PACELINE_ASSIGN_OR_RETURN(std::shared_ptr<store::Shard> shard, host.Serving(first.generation));
    PACELINE_RETURN_IF_ERROR(host.CheckLife(first.worker, first.incarnation));
    PACELINE_RETURN_IF_ERROR(CheckSize(first.total_bytes, shard->slice().size_bytes()));
    const store::PushId id{first.worker, first.incarnation, first.sequence};
    PACELINE_ASSIGN_OR_RETURN(store::Staging staging, shard->Stage(id));
    return std::unique_ptr<IncomingTransfer>(
        new IncomingPush(host, first, std::move(shard), std::move(staging)));
  }

  StatusOr<ReceiptPointer> Seal() override {
    PACELINE_RETURN_IF_ERROR(host_.CheckLife(first_.worker, first_.incarnation));
    return shard_->Seal({first_.worker, first_.incarnation, first_.sequence}, staging_.ticket,
                        judge_.Finish(staging_.bytes));
  }

 protected:
  void Arrived(uint64_t begin, uint64_t end) override { judge_.See(staging_.bytes, begin, end); }

 private:
  IncomingPush(ShardHost& host, const rpc::ChunkHeader& first, std::shared_ptr<store::Shard> shard,
               store::Staging staging)
      : host_(host),
        first_(first),
        shard_(std::move(shard)),
        judge_(shard_->NewJudge()),
        staging_(std::move(staging)) {
    answered_ = staging_.sealed;
    Place(staging_.bytes, store::PartsOf(shard_->layout(), shard_->slice()).parameters_end);
  }

  ShardHost& host_;
  const rpc::ChunkHeader first_;
  const std::shared_ptr<store::Shard> shard_;
  store::PushJudge judge_;
  const store::Staging staging_;
};

class IncomingFill final : public IncomingTransfer {
 public:
  static StatusOr<std::unique_ptr<IncomingTransfer>> Begin(ShardHost& host, FillMemory& fills,
                                                           const rpc::ChunkHeader& first) {
    const FillMemory::Fill fill{first.generation, first.worker, first.incarnation};
    if (fills.IsComplete(fill))
      return std::unique_ptr<IncomingTransfer>(new IncomingFill(host, fills, fill));
    PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<store::Shard> shard,
                              host.Serving(first.generation));
    PACELINE_RETURN_IF_ERROR(host.CheckLife(first.worker, first.incarnation));
    PACELINE_RETURN_IF_ERROR(CheckSize(first.total_bytes, shard->slice().size_bytes()));
    PACELINE_ASSIGN_OR_RETURN(ShardHost::FillBuffer buffer,
                              host.BeginFill(first.generation, first.worker, first.incarnation));
    fills.Begin();
    auto transfer = std::unique_ptr<IncomingFill>(new IncomingFill(host, fills, fill));
    transfer->buffer_ = std::move(buffer);
    transfer->answered_.reset();
    transfer->Place(*transfer->buffer_);
    return transfer;
  }

  StatusOr<ReceiptPointer> Seal() override {
    PACELINE_RETURN_IF_ERROR(host_.EndFill(buffer_));
    fills_.Complete(fill_);
    return std::make_shared<const store::Receipt>();
  }

 private:
  IncomingFill(ShardHost& host, FillMemory& fills, const FillMemory::Fill& fill)
      : host_(host), fills_(fills), fill_(fill) {
    answered_ = std::make_shared<const store::Receipt>();
  }

  ShardHost& host_;
  FillMemory& fills_;
  const FillMemory::Fill fill_;
  ShardHost::FillBuffer buffer_;
};

}  // namespace

StatusOr<std::unique_ptr<IncomingTransfer>> IncomingTransfer::Begin(ShardHost& host,
                                                                    FillMemory& fills,
                                                                    const rpc::ChunkHeader& first) {
  if (first.kind == rpc::ChunkKind::kFill) return IncomingFill::Begin(host, fills, first);
  return IncomingPush::Begin(host, first);
}

}  // namespace paceline::ps
