#include <algorithm>
#include <utility>
#include <variant>

#include "lib/base/printable.h"
#include "lib/rpc/control/codec_values.h"
#include "lib/rpc/control/codec_worker.h"

namespace paceline::rpc {
namespace {

using protocol::RefuseReason;

constexpr EnumPair<RefuseReason, v1::RefuseReason> kRefuseReasons[] = {
    {RefuseReason::kLayoutDiffers, v1::REFUSE_REASON_LAYOUT_DIFFERS},
    {RefuseReason::kHoldsFrozen, v1::REFUSE_REASON_HOLDS_FROZEN},
    {RefuseReason::kDataDiffers, v1::REFUSE_REASON_DATA_DIFFERS},
    {RefuseReason::kNetworkDiffers, v1::REFUSE_REASON_NETWORK_DIFFERS},
    {RefuseReason::kUnknownWorker, v1::REFUSE_REASON_UNKNOWN_WORKER},
    {RefuseReason::kAlreadyJoined, v1::REFUSE_REASON_ALREADY_JOINED},
    {RefuseReason::kExpelled, v1::REFUSE_REASON_EXPELLED},
    {RefuseReason::kFinished, v1::REFUSE_REASON_FINISHED},
};
constexpr EnumPair<sync::Pacing, v1::Pacing> kPacings[] = {
    {sync::Pacing::kWait, v1::PACING_WAIT},
    {sync::Pacing::kKeepGoing, v1::PACING_KEEP_GOING},
    {sync::Pacing::kOverlapped, v1::PACING_OVERLAPPED},
    {sync::Pacing::kEagerPull, v1::PACING_EAGER_PULL},
};

constexpr EnumPair<sync::OnPull, v1::OnPull> kOnPulls[] = {
    {sync::OnPull::kRebase, v1::ON_PULL_REBASE},
    {sync::OnPull::kOverwrite, v1::ON_PULL_OVERWRITE},
};
constexpr EnumPair<sync::MomentumOnPull, v1::MomentumOnPull> kMomentumOnPulls[] = {
    {sync::MomentumOnPull::kKeep, v1::MOMENTUM_ON_PULL_KEEP},
    {sync::MomentumOnPull::kReset, v1::MOMENTUM_ON_PULL_RESET},
};

v1::Assignment EncodeAssignment(const sync::Assignment& assignment) {
  v1::Assignment wire;
  wire.set_samples(assignment.samples);
  wire.set_steps_max(assignment.steps_max);
  wire.set_learning_rate_scale(assignment.learning_rate_scale);
  wire.set_pacing(EncodeEnum(kPacings, assignment.pacing));
  wire.set_on_pull(EncodeEnum(kOnPulls, assignment.on_pull));
  wire.set_momentum_on_pull(EncodeEnum(kMomentumOnPulls, assignment.momentum_on_pull));
  wire.set_depth(assignment.depth);
  return wire;
}

StatusOr<sync::Assignment> DecodeAssignment(const v1::Assignment& wire) {
  PACELINE_ASSIGN_OR_RETURN(const sync::Pacing pacing,
                            DecodeEnum(kPacings, wire.pacing(), "pacing"));
  PACELINE_ASSIGN_OR_RETURN(const sync::OnPull on_pull,
                            DecodeEnum(kOnPulls, wire.on_pull(), "on_pull"));
  PACELINE_ASSIGN_OR_RETURN(
      const sync::MomentumOnPull momentum,
      DecodeEnum(kMomentumOnPulls, wire.momentum_on_pull(), "momentum_on_pull"));
  return sync::Assignment{.samples = wire.samples(),
                          .steps_max = wire.steps_max(),
                          .learning_rate_scale = wire.learning_rate_scale(),
                          .pacing = pacing,
                          .on_pull = on_pull,
                          .momentum_on_pull = momentum,
                          .depth = std::max(wire.depth(), 1u)};
}

v1::Lease EncodeLease(const protocol::Lease& lease) {
  v1::Lease wire;
  wire.set_id(lease.id.value());
  for (const protocol::SampleRange& range : lease.ranges) {
    v1::SampleRange& one = *wire.add_ranges();
    one.set_epoch(range.epoch);
    one.set_begin(range.begin);
    one.set_end(range.end);
  }
  return wire;
}

StatusOr<protocol::Lease> DecodeLease(const v1::Lease& wire) {
  protocol::Lease lease{.id = protocol::LeaseId(wire.id())};
  lease.ranges.reserve(wire.ranges_size());
  for (const v1::SampleRange& range : wire.ranges()) {
    if (range.end() < range.begin()) {
      return InvalidArgument("range of lease {} ends before it begins: [{}, {})", lease.id,
                             range.begin(), range.end());
    }
    lease.ranges.push_back({.epoch = range.epoch(), .begin = range.begin(), .end = range.end()});
  }
  return lease;
}

void Put(const protocol::Admitted& admitted, v1::WorkerOrder& order) {
  v1::Admitted& wire = *order.mutable_admitted();
  wire.set_incarnation(admitted.incarnation.value());
  *wire.mutable_generation() = Encode(admitted.generation);
  wire.set_heartbeat_period_ns(EncodeDuration(admitted.heartbeat_period));
  wire.set_seed(admitted.seed);
  if (admitted.worker) wire.set_worker(admitted.worker->value());
  wire.set_compares_draws(admitted.compares_draws);
  wire.set_compares_frozen(admitted.compares_frozen);
}

void Put(const protocol::Shards& shards, v1::WorkerOrder& order) {
  v1::Shards& wire = *order.mutable_shards();
  for (const protocol::ShardAddress& shard : shards.shards) {
    v1::ShardAddress& one = *wire.add_shards();
    one.set_shard(shard.shard.value());
    one.set_address(shard.address);
    *one.mutable_slice() = Encode(shard.slice);
  }
}

void Put(const protocol::Refused& refused, v1::WorkerOrder& order) {
  order.mutable_refused()->set_reason(EncodeEnum(kRefuseReasons, refused.reason));
  order.mutable_refused()->set_detail(Printable(refused.detail));
}

void Put(const protocol::Fill&, v1::WorkerOrder& order) { order.mutable_fill(); }

void Put(const protocol::Released& released, v1::WorkerOrder& order) {
  v1::Released& wire = *order.mutable_released();
  wire.set_version(released.version.value());
  wire.set_exactness(Encode(released.exactness));
  if (released.includes) wire.set_includes_sequence(released.includes->value());
  *wire.mutable_assignment() = EncodeAssignment(released.assignment);
  *wire.mutable_lease() = EncodeLease(released.lease);
  wire.set_learning_rate(released.learning_rate);
}

void Put(const protocol::Offered& offered, v1::WorkerOrder& order) {
  order.mutable_offered()->set_version(offered.version.value());
}

void Put(const protocol::Continued& continued, v1::WorkerOrder& order) {
  *order.mutable_continued()->mutable_assignment() = EncodeAssignment(continued.assignment);
  *order.mutable_continued()->mutable_lease() = EncodeLease(continued.lease);
  order.mutable_continued()->set_learning_rate(continued.learning_rate);
}

void Put(const protocol::Interrupted& interrupted, v1::WorkerOrder& order) {
  order.mutable_interrupted()->set_sequence(interrupted.sequence.value());
}

void Put(const protocol::Expelled& expelled, v1::WorkerOrder& order) {
  order.mutable_expelled()->set_reason(Printable(expelled.reason));
}

void Put(const protocol::Evaluate& evaluate, v1::WorkerOrder& order) {
  order.mutable_evaluate()->set_version(evaluate.version.value());
}

void Put(const protocol::Finish& finish, v1::WorkerOrder& order) {
  order.mutable_finish()->set_reason(Printable(finish.reason));
}

protocol::Admitted Take(const v1::Admitted& wire) {
  protocol::Admitted admitted{.incarnation = Incarnation(wire.incarnation()),
                              .generation = Decode(wire.generation()),
                              .heartbeat_period = DecodeDuration(wire.heartbeat_period_ns()),
                              .seed = wire.seed()};
  if (wire.has_worker()) admitted.worker = WorkerId(wire.worker());
  admitted.compares_draws = wire.compares_draws();
  admitted.compares_frozen = wire.compares_frozen();
  return admitted;
}

StatusOr<protocol::WorkerOrder> Take(const v1::Shards& wire) {
  protocol::Shards shards;
  shards.shards.reserve(wire.shards_size());
  for (const v1::ShardAddress& one : wire.shards()) {
    PACELINE_ASSIGN_OR_RETURN(const store::Slice slice, Decode(one.slice()));
    shards.shards.push_back({ShardId(one.shard()), one.address(), slice});
  }
  return shards;
}

StatusOr<protocol::WorkerOrder> Take(const v1::Refused& wire) {
  PACELINE_ASSIGN_OR_RETURN(const RefuseReason reason,
                            DecodeEnum(kRefuseReasons, wire.reason(), "reason of refused"));
  return protocol::Refused{reason, wire.detail()};
}

StatusOr<protocol::WorkerOrder> Take(const v1::Released& wire) {
  protocol::Released released{.version = Version(wire.version())};
  PACELINE_ASSIGN_OR_RETURN(released.exactness, Decode(wire.exactness()));
  PACELINE_ASSIGN_OR_RETURN(released.assignment, DecodeAssignment(wire.assignment()));
  PACELINE_ASSIGN_OR_RETURN(released.lease, DecodeLease(wire.lease()));
  released.learning_rate = wire.learning_rate();
  if (wire.has_includes_sequence()) released.includes = Sequence(wire.includes_sequence());
  return released;
}

StatusOr<protocol::WorkerOrder> Take(const v1::Continued& wire) {
  protocol::Continued continued;
  PACELINE_ASSIGN_OR_RETURN(continued.assignment, DecodeAssignment(wire.assignment()));
  PACELINE_ASSIGN_OR_RETURN(continued.lease, DecodeLease(wire.lease()));
  continued.learning_rate = wire.learning_rate();
  return continued;
}

}  // namespace

v1::WorkerOrder Encode(const protocol::WorkerOrder& order) {
  v1::WorkerOrder wire;
  std::visit([&](const auto& one) { Put(one, wire); }, order);
  return wire;
}

StatusOr<protocol::WorkerOrder> Decode(const v1::WorkerOrder& order) {
  switch (order.order_case()) {
    case v1::WorkerOrder::kAdmitted:
      return Take(order.admitted());
    case v1::WorkerOrder::kShards:
      return Take(order.shards());
    case v1::WorkerOrder::kRefused:
      return Take(order.refused());
    case v1::WorkerOrder::kFill:
      return protocol::Fill{};
    case v1::WorkerOrder::kReleased:
      return Take(order.released());
    case v1::WorkerOrder::kOffered:
      return protocol::Offered{Version(order.offered().version())};
    case v1::WorkerOrder::kContinued:
      return Take(order.continued());
    case v1::WorkerOrder::kInterrupted:
      return protocol::Interrupted{Sequence(order.interrupted().sequence())};
    case v1::WorkerOrder::kExpelled:
      return protocol::Expelled{order.expelled().reason()};
    case v1::WorkerOrder::kEvaluate:
      return protocol::Evaluate{Version(order.evaluate().version())};
    case v1::WorkerOrder::kFinish:
      return protocol::Finish{order.finish().reason()};
    case v1::WorkerOrder::ORDER_NOT_SET:
      break;
  }
  return InvalidArgument("order to a worker says nothing that this version knows");
}

}  // namespace paceline::rpc
