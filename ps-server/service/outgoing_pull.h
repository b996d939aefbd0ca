// Defines OutgoingPull: one pull as a shard answers it, chunk by chunk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "paceline/v1/chunk.pb.h"
#include <grpcpp/support/byte_buffer.h>

#include "lib/rpc/bulk/bulk_chunk.h"
#include "ps-server/service/rounded_versions.h"
#include "ps-server/shard/shard_host.h"

namespace paceline::ps {

// One owner at a time.
class OutgoingPull {
 public:
  // Finds the version, or the refusal to answer with.
  OutgoingPull(const ShardHost& host, RoundedVersions& rounded, const v1::PullRequest& request);

  // Nothing after the last chunk. The bytes are lent: they live as long as gRPC needs them.
  std::optional<grpc::ByteBuffer> NextChunk();

 private:
  rpc::ChunkHeader header_;
  std::shared_ptr<const store::Published> published_;  // Null: refused or superseded.
  std::shared_ptr<RoundedVersion> rounded_;            // Null where nothing is to be rounded.
  uint64_t rounded_end_ = 0;
  uint64_t sent_bytes_ = 0;
  bool is_sent_ = false;
};

}  // namespace paceline::ps
