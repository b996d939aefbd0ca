#include "ps-server/service/outgoing_pull.h"

#include <algorithm>
#include <span>
#include <utility>

#include "lib/rpc/control/codec_values.h"
#include "ps-server/service/found_version.h"

namespace paceline::ps {

namespace {

// Rounded, a chunk is as long as others are, of twice as many bytes of the slice.
constexpr uint64_t kRoundedStep = 2 * rpc::kChunkBytes;

}  // namespace

OutgoingPull::OutgoingPull(const ShardHost& host, RoundedVersions& rounded,
                           const v1::PullRequest& request) {
  header_.kind = rpc::ChunkKind::kPullAnswer;
  header_.transfer = request.transfer();
  header_.generation = rpc::Decode(request.generation());
  StatusOr<FoundVersion> found = FindVersion(host, request);
  if (!found.ok()) {
    header_.code = found.status().code();
    header_.message = Message(found.status());
    return;
  }
  header_.version = found->version;
  header_.is_superseded = found->published == nullptr;
  if (header_.is_superseded) return;
  header_.is_average = request.is_average();
  header_.total_bytes = found->published->bytes().size();
  published_ = std::move(found->published);
  // What is rounded once for all who ask are the parameters of a version.
  if (request.parameter_type() != v1::NUMBER_TYPE_BFLOAT16 || request.is_average()) return;
  rounded_end_ = found->parameters_end;
  if (rounded_end_ > 0)
    rounded_ = rounded.Of(header_.generation, published_, rounded_end_, kRoundedStep);
}

std::optional<grpc::ByteBuffer> OutgoingPull::NextChunk() {
  if (is_sent_) return std::nullopt;
  if (published_ == nullptr) {
    header_.is_last = is_sent_ = true;
    return rpc::EncodeChunk(header_, {}, nullptr);
  }
  const std::span<const std::byte> bytes = published_->bytes();
  if (sent_bytes_ < rounded_end_) {
    header_.offset_bytes = sent_bytes_;
    header_.type = WireType::kBfloat16;
    const std::span<const std::byte> numbers = rounded_->Chunk(sent_bytes_);
    sent_bytes_ += 2 * numbers.size();
    header_.is_last = is_sent_ = sent_bytes_ == bytes.size();
    return rpc::EncodeChunk(header_, numbers, rounded_);
  }
  header_.type = WireType::kFloat32;
  const uint64_t size = std::min<uint64_t>(rpc::kChunkBytes, bytes.size() - sent_bytes_);
  header_.offset_bytes = sent_bytes_;
  sent_bytes_ += size;
  header_.is_last = is_sent_ = sent_bytes_ == bytes.size();  // An empty slice is one empty chunk.
  return rpc::EncodeChunk(header_, bytes.subspan(header_.offset_bytes, size), published_);
}

}  // namespace paceline::ps
