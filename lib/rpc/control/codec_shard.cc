#include "lib/rpc/control/codec_shard.h"

#include <utility>
#include <variant>
#include <vector>

#include "lib/base/printable.h"
#include "lib/rpc/control/codec_values.h"

namespace paceline::rpc {
namespace {

constexpr EnumPair<PushKind, v1::PushKind> kPushKinds[] = {
    {PushKind::kGradient, v1::PUSH_KIND_GRADIENT},
    {PushKind::kDelta, v1::PUSH_KIND_DELTA},
};

template <class Repeated>
std::vector<double> DecodeNorms(const Repeated& wire) {
  return {wire.begin(), wire.end()};
}

// --- Shard to coordinator.

void Put(const protocol::Register& said, v1::ShardMessage& message) {
  message.mutable_register_()->set_shard(said.shard.value());
  message.mutable_register_()->set_address(said.address);
}

v1::FileDigest EncodeDigest(const store::FileDigest& digest) {
  v1::FileDigest wire;
  wire.set_bytes(digest.bytes);
  wire.set_sha256(digest.sha256);
  return wire;
}

store::FileDigest DecodeDigest(const v1::FileDigest& wire) { return {wire.bytes(), wire.sha256()}; }

void Put(const protocol::Configured& configured, v1::ShardMessage& message) {
  *message.mutable_configured()->mutable_generation() = Encode(configured.generation);
}

void Put(const protocol::Filled& filled, v1::ShardMessage& message) {
  message.mutable_filled()->set_worker(filled.worker.value());
  message.mutable_filled()->set_incarnation(filled.incarnation.value());
}

void Put(const protocol::Opened&, v1::ShardMessage& message) { message.mutable_opened(); }

void Put(const protocol::Summed& summed, v1::ShardMessage& message) {
  v1::Summed& wire = *message.mutable_summed();
  wire.set_version(summed.version.value());
  wire.mutable_block_squared_norms()->Add(summed.block_squared_norms.begin(),
                                          summed.block_squared_norms.end());
}

void Put(const protocol::Committed& committed, v1::ShardMessage& message) {
  v1::Committed& wire = *message.mutable_committed();
  wire.set_version(committed.version.value());
  wire.mutable_block_squared_norms()->Add(committed.block_squared_norms.begin(),
                                          committed.block_squared_norms.end());
}

void Put(const protocol::ShardFailed& failed, v1::ShardMessage& message) {
  message.mutable_failed()->set_reason(Printable(failed.reason));
  *message.mutable_failed()->mutable_generation() = Encode(failed.generation);
}

void Put(const protocol::RestoreFailed& failed, v1::ShardMessage& message) {
  message.mutable_restore_failed()->set_reason(Printable(failed.reason));
  *message.mutable_restore_failed()->mutable_generation() = Encode(failed.generation);
}

void Put(const protocol::SliceSaved& saved, v1::ShardMessage& message) {
  v1::SliceSaved& wire = *message.mutable_slice_saved();
  wire.set_checkpoint(saved.checkpoint);
  *wire.mutable_digest() = EncodeDigest(saved.digest);
  wire.set_problem(Printable(saved.problem));
}

void Put(const protocol::ShardHeartbeat& beat, v1::ShardMessage& message) {
  message.mutable_heartbeat()->set_work_done(beat.work_done);
  message.mutable_heartbeat()->set_saved_bytes(beat.saved_bytes);
}

void Put(const protocol::Prepared& prepared, v1::ShardMessage& message) {
  v1::Prepared& wire = *message.mutable_prepared();
  wire.set_version(prepared.version.value());
  for (const store::TensorNorms& norms : prepared.norms) {
    v1::TensorNorms& one = *wire.add_norms();
    one.set_tensor(norms.tensor);
    one.set_weights(norms.norms.weights);
    one.set_update(norms.norms.update);
  }
}

// --- Coordinator to shard.

void PutOptimizer(const optim::SgdOptions& sgd, v1::Configure& wire) {
  wire.mutable_sgd()->set_momentum(sgd.momentum);
  wire.mutable_sgd()->set_dampening(sgd.dampening);
  wire.mutable_sgd()->set_weight_decay(sgd.weight_decay);
  wire.mutable_sgd()->set_is_nesterov(sgd.is_nesterov);
}

void PutOptimizer(const optim::AdamWOptions& adamw, v1::Configure& wire) {
  wire.mutable_adamw()->set_beta1(adamw.beta1);
  wire.mutable_adamw()->set_beta2(adamw.beta2);
  wire.mutable_adamw()->set_epsilon(adamw.epsilon);
  wire.mutable_adamw()->set_weight_decay(adamw.weight_decay);
}

void PutOptimizer(const optim::AdagradOptions& adagrad, v1::Configure& wire) {
  wire.mutable_adagrad()->set_learning_rate_decay(adagrad.learning_rate_decay);
  wire.mutable_adagrad()->set_initial_accumulator(adagrad.initial_accumulator);
  wire.mutable_adagrad()->set_epsilon(adagrad.epsilon);
  wire.mutable_adagrad()->set_weight_decay(adagrad.weight_decay);
}

void PutOptimizer(const optim::LionOptions& lion, v1::Configure& wire) {
  wire.mutable_lion()->set_beta1(lion.beta1);
  wire.mutable_lion()->set_beta2(lion.beta2);
  wire.mutable_lion()->set_weight_decay(lion.weight_decay);
}

void PutOptimizer(const optim::LambOptions& lamb, v1::Configure& wire) {
  wire.mutable_lamb()->set_beta1(lamb.beta1);
  wire.mutable_lamb()->set_beta2(lamb.beta2);
  wire.mutable_lamb()->set_epsilon(lamb.epsilon);
  wire.mutable_lamb()->set_weight_decay(lamb.weight_decay);
}

void PutGroup(const optim::ParameterGroup& group, v1::ParameterGroup& wire) {
  for (const std::string& pattern : group.match) wire.add_match(pattern);
  if (group.weight_decay) wire.set_weight_decay(*group.weight_decay);
  wire.set_learning_rate_scale(group.rate_scale);
  wire.set_is_frozen(group.is_frozen);
}

void Put(const protocol::Configure& configure, v1::ShardOrder& order) {
  v1::Configure& wire = *order.mutable_configure();
  *wire.mutable_generation() = Encode(configure.generation);
  *wire.mutable_layout() = Encode(configure.layout);
  *wire.mutable_slice() = Encode(configure.slice);
  std::visit([&](const auto& options) { PutOptimizer(options, wire); }, configure.optimizer);
  wire.set_slots_per_worker(configure.slots_per_worker);
  wire.set_workers_max(configure.workers_max);
  for (const optim::ParameterGroup& group : configure.parameter_groups)
    PutGroup(group, *wire.add_parameter_groups());
  if (configure.average_decay) wire.set_average_decay(*configure.average_decay);
  if (!configure.restore) return;
  v1::RestoreSlice& restore = *wire.mutable_restore();
  restore.set_checkpoint(configure.restore->checkpoint);
  restore.set_version(configure.restore->version.value());
  *restore.mutable_digest() = EncodeDigest(configure.restore->digest);
  if (configure.restore->kept) restore.set_kept(configure.restore->kept->value());
}

void Put(const protocol::Open& open, v1::ShardOrder& order) {
  order.mutable_open()->set_worker(open.worker.value());
  order.mutable_open()->set_incarnation(open.incarnation.value());
}

void PutAccumulate(const protocol::AccumulateOrder& accumulate, v1::AccumulateOrder& wire) {
  *wire.mutable_push() = Encode(accumulate.push);
  wire.set_weight(accumulate.weight);
}

void Put(const protocol::AccumulateOrder& accumulate, v1::ShardOrder& order) {
  PutAccumulate(accumulate, *order.mutable_accumulate());
}

void Put(const protocol::DropOrder& drop, v1::ShardOrder& order) {
  *order.mutable_drop()->mutable_push() = Encode(drop.push);
}

void Put(const protocol::Admit& admit, v1::ShardOrder& order) {
  order.mutable_admit()->set_worker(admit.worker.value());
  order.mutable_admit()->set_incarnation(admit.incarnation.value());
  order.mutable_admit()->set_group(admit.seat.group);
  order.mutable_admit()->set_index(admit.seat.index);
}

void Put(const protocol::Fence& fence, v1::ShardOrder& order) {
  order.mutable_fence()->set_worker(fence.worker.value());
  order.mutable_fence()->set_incarnation(fence.incarnation.value());
}

void Put(const protocol::Sum& sum, v1::ShardOrder& order) {
  order.mutable_sum()->set_version(sum.version.value());
}

void Put(const protocol::Prepare& prepare, v1::ShardOrder& order) {
  v1::Prepare& wire = *order.mutable_prepare();
  wire.set_version(prepare.version.value());
  wire.set_gradient_scale(prepare.gradient_scale);
  wire.set_clip_scale(prepare.clip_scale);
}

void Put(const protocol::CommitAll& all, v1::ShardOrder& order) {
  v1::CommitAll& wire = *order.mutable_commit_all();
  for (const protocol::AccumulateOrder& one : all.pushes) PutAccumulate(one, *wire.add_pushes());
  wire.set_version(all.commit.version.value());
  wire.set_gradient_scale(all.commit.gradient_scale);
  wire.set_clip_scale(all.commit.clip_scale);
  wire.set_learning_rate(all.commit.learning_rate);
  wire.set_is_pinned(all.commit.is_pinned);
  wire.set_kind(EncodeEnum(kPushKinds, all.commit.kind));
  for (const store::TrustRatio& ratio : all.commit.trust_ratios) {
    v1::TrustRatio& one = *wire.add_trust_ratios();
    one.set_tensor(ratio.tensor);
    one.set_ratio(ratio.ratio);
  }
  wire.mutable_without_gradient()->Add(all.commit.without_gradient.begin(),
                                       all.commit.without_gradient.end());
  if (const std::optional<OuterStep>& outer = all.commit.outer) {
    wire.mutable_outer()->set_learning_rate(outer->learning_rate);
    wire.mutable_outer()->set_momentum(outer->momentum);
    wire.mutable_outer()->set_is_nesterov(outer->is_nesterov);
  }
}

void Put(const protocol::Unpin& unpin, v1::ShardOrder& order) {
  order.mutable_unpin()->set_version(unpin.version.value());
}

void Put(const protocol::StopShard&, v1::ShardOrder& order) { order.mutable_stop(); }

void Put(const protocol::SaveSlice& save, v1::ShardOrder& order) {
  v1::SaveSlice& wire = *order.mutable_save_slice();
  wire.set_checkpoint(save.checkpoint);
  wire.set_version(save.version.value());
  for (const std::string& name : save.keep) wire.add_keep(name);
  if (save.kept) wire.set_kept(save.kept->value());
}

StatusOr<optim::OptimizerOptions> TakeOptimizer(const v1::Configure& wire) {
  switch (wire.optimizer_case()) {
    case v1::Configure::kSgd:
      return optim::SgdOptions{.momentum = wire.sgd().momentum(),
                               .dampening = wire.sgd().dampening(),
                               .weight_decay = wire.sgd().weight_decay(),
                               .is_nesterov = wire.sgd().is_nesterov()};
    case v1::Configure::kAdamw:
      return optim::AdamWOptions{.beta1 = wire.adamw().beta1(),
                                 .beta2 = wire.adamw().beta2(),
                                 .epsilon = wire.adamw().epsilon(),
                                 .weight_decay = wire.adamw().weight_decay()};
    case v1::Configure::kAdagrad:
      return optim::AdagradOptions{.learning_rate_decay = wire.adagrad().learning_rate_decay(),
                                   .initial_accumulator = wire.adagrad().initial_accumulator(),
                                   .epsilon = wire.adagrad().epsilon(),
                                   .weight_decay = wire.adagrad().weight_decay()};
    case v1::Configure::kLion:
      return optim::LionOptions{.beta1 = wire.lion().beta1(),
                                .beta2 = wire.lion().beta2(),
                                .weight_decay = wire.lion().weight_decay()};
    case v1::Configure::kLamb:
      return optim::LambOptions{.beta1 = wire.lamb().beta1(),
                                .beta2 = wire.lamb().beta2(),
                                .epsilon = wire.lamb().epsilon(),
                                .weight_decay = wire.lamb().weight_decay()};
    case v1::Configure::OPTIMIZER_NOT_SET:
      break;
  }
  return InvalidArgument("configure names no optimizer that this version knows");
}

optim::ParameterGroup TakeGroup(const v1::ParameterGroup& wire) {
  optim::ParameterGroup group{.match = {wire.match().begin(), wire.match().end()},
                              .rate_scale = wire.learning_rate_scale(),
                              .is_frozen = wire.is_frozen()};
  if (wire.has_weight_decay()) group.weight_decay = wire.weight_decay();
  return group;
}

StatusOr<protocol::ShardOrder> Take(const v1::Configure& wire) {
  protocol::Configure configure{.generation = Decode(wire.generation()),
                                .slots_per_worker = wire.slots_per_worker(),
                                .workers_max = wire.workers_max()};
  PACELINE_ASSIGN_OR_RETURN(configure.layout, Decode(wire.layout()));
  PACELINE_ASSIGN_OR_RETURN(configure.slice, Decode(wire.slice()));
  PACELINE_ASSIGN_OR_RETURN(configure.optimizer, TakeOptimizer(wire));
  for (const v1::ParameterGroup& group : wire.parameter_groups())
    configure.parameter_groups.push_back(TakeGroup(group));
  if (wire.has_average_decay()) configure.average_decay = wire.average_decay();
  if (wire.has_restore()) {
    configure.restore =
        protocol::RestoreSlice{wire.restore().checkpoint(), Version(wire.restore().version()),
                               DecodeDigest(wire.restore().digest())};
    if (wire.restore().has_kept()) configure.restore->kept = Version(wire.restore().kept());
  }
  return configure;
}

protocol::SaveSlice Take(const v1::SaveSlice& wire) {
  protocol::SaveSlice save{
      wire.checkpoint(), Version(wire.version()), {wire.keep().begin(), wire.keep().end()}};
  if (wire.has_kept()) save.kept = Version(wire.kept());
  return save;
}

protocol::AccumulateOrder Take(const v1::AccumulateOrder& wire) {
  return {.push = Decode(wire.push()), .weight = wire.weight()};
}

StatusOr<protocol::ShardOrder> Take(const v1::CommitAll& wire) {
  PACELINE_ASSIGN_OR_RETURN(const PushKind kind,
                            DecodeEnum(kPushKinds, wire.kind(), "kind of commit"));
  protocol::CommitAll all{.commit = {.version = Version(wire.version()),
                                     .gradient_scale = wire.gradient_scale(),
                                     .clip_scale = wire.clip_scale(),
                                     .learning_rate = wire.learning_rate(),
                                     .is_pinned = wire.is_pinned(),
                                     .kind = kind}};
  if (wire.has_outer()) {
    all.commit.outer = OuterStep{.learning_rate = wire.outer().learning_rate(),
                                 .momentum = wire.outer().momentum(),
                                 .is_nesterov = wire.outer().is_nesterov()};
  }
  for (const v1::TrustRatio& one : wire.trust_ratios())
    all.commit.trust_ratios.push_back({one.tensor(), one.ratio()});
  all.commit.without_gradient = {wire.without_gradient().begin(), wire.without_gradient().end()};
  all.pushes.reserve(wire.pushes_size());
  for (const v1::AccumulateOrder& one : wire.pushes()) all.pushes.push_back(Take(one));
  return all;
}

protocol::Prepared TakePrepared(const v1::Prepared& wire) {
  protocol::Prepared prepared{Version(wire.version()), {}};
  prepared.norms.reserve(wire.norms_size());
  for (const v1::TensorNorms& one : wire.norms())
    prepared.norms.push_back({one.tensor(), {one.weights(), one.update()}});
  return prepared;
}

}  // namespace

v1::ShardMessage Encode(const protocol::ShardMessage& message) {
  v1::ShardMessage wire;
  std::visit([&](const auto& said) { Put(said, wire); }, message);
  return wire;
}

StatusOr<protocol::ShardMessage> Decode(const v1::ShardMessage& message) {
  switch (message.said_case()) {
    case v1::ShardMessage::kRegister:
      return protocol::Register{ShardId(message.register_().shard()),
                                message.register_().address()};
    case v1::ShardMessage::kConfigured:
      return protocol::Configured{Decode(message.configured().generation())};
    case v1::ShardMessage::kFilled:
      return protocol::Filled{WorkerId(message.filled().worker()),
                              Incarnation(message.filled().incarnation())};
    case v1::ShardMessage::kOpened:
      return protocol::Opened{};
    case v1::ShardMessage::kSummed:
      return protocol::Summed{Version(message.summed().version()),
                              DecodeNorms(message.summed().block_squared_norms())};
    case v1::ShardMessage::kCommitted:
      return protocol::Committed{Version(message.committed().version()),
                                 DecodeNorms(message.committed().block_squared_norms())};
    case v1::ShardMessage::kFailed:
      return protocol::ShardFailed{message.failed().reason(),
                                   Decode(message.failed().generation())};
    case v1::ShardMessage::kHeartbeat:
      return protocol::ShardHeartbeat{message.heartbeat().work_done(),
                                      message.heartbeat().saved_bytes()};
    case v1::ShardMessage::kRestoreFailed:
      return protocol::RestoreFailed{message.restore_failed().reason(),
                                     Decode(message.restore_failed().generation())};
    case v1::ShardMessage::kSliceSaved:
      return protocol::SliceSaved{message.slice_saved().checkpoint(),
                                  DecodeDigest(message.slice_saved().digest()),
                                  message.slice_saved().problem()};
    case v1::ShardMessage::kPrepared:
      return TakePrepared(message.prepared());
    case v1::ShardMessage::SAID_NOT_SET:
      break;
  }
  return InvalidArgument("shard message says nothing that this version knows");
}

v1::ShardOrder Encode(const protocol::ShardOrder& order) {
  v1::ShardOrder wire;
  std::visit([&](const auto& one) { Put(one, wire); }, order);
  return wire;
}

StatusOr<protocol::ShardOrder> Decode(const v1::ShardOrder& order) {
  switch (order.order_case()) {
    case v1::ShardOrder::kConfigure:
      return Take(order.configure());
    case v1::ShardOrder::kOpen:
      return protocol::Open{WorkerId(order.open().worker()),
                            Incarnation(order.open().incarnation())};
    case v1::ShardOrder::kAccumulate:
      return Take(order.accumulate());
    case v1::ShardOrder::kDrop:
      return protocol::DropOrder{Decode(order.drop().push())};
    case v1::ShardOrder::kFence:
      return protocol::Fence{WorkerId(order.fence().worker()),
                             Incarnation(order.fence().incarnation())};
    case v1::ShardOrder::kSum:
      return protocol::Sum{Version(order.sum().version())};
    case v1::ShardOrder::kCommitAll:
      return Take(order.commit_all());
    case v1::ShardOrder::kUnpin:
      return protocol::Unpin{Version(order.unpin().version())};
    case v1::ShardOrder::kStop:
      return protocol::StopShard{};
    case v1::ShardOrder::kSaveSlice:
      return Take(order.save_slice());
    case v1::ShardOrder::kAdmit:
      return protocol::Admit{WorkerId(order.admit().worker()),
                             Incarnation(order.admit().incarnation()),
                             {order.admit().group(), order.admit().index()}};
    case v1::ShardOrder::kPrepare:
      return protocol::Prepare{Version(order.prepare().version()), order.prepare().gradient_scale(),
                               order.prepare().clip_scale()};
    case v1::ShardOrder::ORDER_NOT_SET:
      break;
  }
  return InvalidArgument("order to a shard says nothing that this version knows");
}

}  // namespace paceline::rpc
