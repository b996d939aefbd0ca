// Defines ShardService: bulk pushes, fills and pulls of workers over gRPC, to and from one
// ShardHost.
#pragma once

#include <memory>

#include "paceline/v1/chunk.grpc.pb.h"
#include <grpcpp/support/byte_buffer.h>

#include "lib/base/time.h"
#include "ps-server/service/idle_watch.h"
#include "ps-server/service/peer_roles.h"
#include "ps-server/shard/shard_host.h"

namespace paceline::ps {

class FillMemory;
class RoundedVersions;

// Bytes do not pass through protobuf's classes: a chunk is copied from gRPC's slices to where the
// store wants it, and a published version is lent to gRPC until it is sent. No lock is held while
// bytes travel. What the shard refuses is answered by a receipt or chunk with its code and message,
// and the stream goes on; chunks that break the protocol end it with InvalidArgument. Workers alone
// may push, each in its own name; the evaluator and the coordinator may pull too; anybody else gets
// PermissionDenied.
// `host` must outlive the server.
class ShardService final : public v1::Shard::WithRawCallbackMethod_Push<
                               v1::Shard::WithRawCallbackMethod_Pull<v1::Shard::Service>> {
 public:
  // A transfer under way of which nothing moves for `idle` is ended.
  explicit ShardService(ShardHost& host, PeerRoles peers = {}, Duration idle = Seconds(60));
  ~ShardService() override;

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Push(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Pull(
      grpc::CallbackServerContext* context) override;

 private:
  ShardHost& host_;
  const PeerRoles peers_;
  std::shared_ptr<FillMemory> fills_;
  std::shared_ptr<RoundedVersions> rounded_;
  IdleWatch watch_;
};

}  // namespace paceline::ps
