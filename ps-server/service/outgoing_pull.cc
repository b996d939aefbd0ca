#include "ps-server/service/outgoing_pull.h"

#include <algorithm>
#include <span>
#include <utility>

#include "lib/rpc/control/codec_values.h"

namespace paceline::ps {

OutgoingPull::OutgoingPull(const ShardHost& host, const v1::PullRequest& request) {
  header_.kind = rpc::ChunkKind::kPullAnswer;
  header_.transfer = request.transfer();
  header_.generation = rpc::Decode(request.generation());
  if (const Status status = Find(host, request); !status.ok()) {
    header_.code = status.code();
    header_.message = Message(status);
  }
}

Status OutgoingPull::Find(const ShardHost& host, const v1::PullRequest& request) {
  PACELINE_ASSIGN_OR_RETURN(const sync::Exactness exactness, rpc::Decode(request.exactness()));
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<store::Shard> shard,
                            host.Serving(header_.generation));
  const Version want(request.version());
  std::shared_ptr<const store::Published> newest = shard->Newest();
  if (newest == nullptr) return Unavailable("nothing is published yet: want {}", want);
  if (newest->version < want) {
    return Unavailable("version is not published yet: newest {}, want {}", newest->version, want);
  }
  if (exactness == sync::Exactness::kExact && newest->version != want) {
    auto exact = shard->Get(want);
    if (!exact.ok()) {
      header_.is_superseded = true;
      header_.version = newest->version;
      return OkStatus();
    }
    newest = *std::move(exact);
  }
  header_.version = newest->version;
  header_.total_bytes = newest->bytes.size();
  published_ = std::move(newest);
  return OkStatus();
}

std::optional<grpc::ByteBuffer> OutgoingPull::NextChunk() {
  if (is_sent_) return std::nullopt;
  if (published_ == nullptr) {
    header_.is_last = is_sent_ = true;
    return rpc::EncodeChunk(header_, {}, nullptr);
  }
  const std::span<const std::byte> bytes = published_->bytes;
  const uint64_t size = std::min<uint64_t>(rpc::kChunkBytes, bytes.size() - sent_bytes_);
  header_.offset_bytes = sent_bytes_;
  sent_bytes_ += size;
  header_.is_last = is_sent_ = sent_bytes_ == bytes.size();  // An empty slice is one empty chunk.
  return rpc::EncodeChunk(header_, bytes.subspan(header_.offset_bytes, size), published_);
}

}  // namespace paceline::ps
