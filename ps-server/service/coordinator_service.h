// Defines CoordinatorService: carries the sessions of workers and shards over gRPC to the driver.
#pragma once

#include <functional>
#include <utility>

#include "paceline/v1/coordinator.grpc.pb.h"

#include "lib/base/limits.h"
#include "lib/base/time.h"
#include "lib/protocol/frozen_file.h"
#include "ps-server/coordinator/sessions.h"
#include "ps-server/service/peer_roles.h"

namespace paceline::ps {

// Tells `sessions` of each stream as its contract says, on gRPC's threads. A stream that sends what
// cannot be decoded ends with InvalidArgument, one of a peer that `peers` does not welcome (workers
// and the evaluator to worker sessions, each in its own role; shards to shard sessions) with
// PermissionDenied; one that neither joins nor registers within `join_longest` with
// DeadlineExceeded. `take_frozen` is asked on gRPC's threads for what workers hand over. Null: none
// is taken, Unimplemented. `sessions` must outlive the server.
class CoordinatorService final : public v1::Coordinator::CallbackService {
 public:
  using TakeFrozen = std::function<protocol::FrozenAnswer(const protocol::FrozenPart&)>;

  explicit CoordinatorService(Sessions& sessions, PeerRoles peers = {},
                              Duration join_longest = Seconds(limits::kJoinSecondsMax),
                              TakeFrozen take_frozen = nullptr)
      : sessions_(sessions),
        peers_(std::move(peers)),
        join_longest_(join_longest),
        take_frozen_(std::move(take_frozen)) {}

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerOrder>* WorkerSession(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::ShardMessage, v1::ShardOrder>* ShardSession(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* HandFrozen(grpc::CallbackServerContext* context,
                                       const v1::FrozenPart* part,
                                       v1::FrozenAnswer* answer) override;

 private:
  Sessions& sessions_;
  const PeerRoles peers_;
  const Duration join_longest_;
  const TakeFrozen take_frozen_;
};

}  // namespace paceline::ps
