#include <utility>
#include <variant>
#include <vector>

#include "lib/base/printable.h"
#include "lib/rpc/control/codec_values.h"
#include "lib/rpc/control/codec_worker.h"

namespace paceline::rpc {
namespace {

constexpr EnumPair<protocol::Role, v1::Role> kRoles[] = {
    {protocol::Role::kWorker, v1::ROLE_WORKER},
    {protocol::Role::kEvaluator, v1::ROLE_EVALUATOR},
};
constexpr EnumPair<WireType, v1::NumberType> kNumberTypes[] = {
    {WireType::kFloat32, v1::NUMBER_TYPE_FLOAT32},
    {WireType::kBfloat16, v1::NUMBER_TYPE_BFLOAT16},
};
constexpr EnumPair<sync::AbandonReason, v1::AbandonReason> kAbandonReasons[] = {
    {sync::AbandonReason::kInterrupted, v1::ABANDON_REASON_INTERRUPTED},
    {sync::AbandonReason::kOutOfMemory, v1::ABANDON_REASON_OUT_OF_MEMORY},
    {sync::AbandonReason::kOverflow, v1::ABANDON_REASON_OVERFLOW},
};

constexpr EnumPair<protocol::Doing, v1::Doing> kDoings[] = {
    {protocol::Doing::kWaiting, v1::DOING_WAITING},
    {protocol::Doing::kComputing, v1::DOING_COMPUTING},
    {protocol::Doing::kInScript, v1::DOING_IN_SCRIPT},
    {protocol::Doing::kDelayed, v1::DOING_DELAYED},
    {protocol::Doing::kTransferring, v1::DOING_TRANSFERRING},
};

template <class Repeated>
std::vector<protocol::LeaseId> DecodeLeases(const Repeated& wire) {
  std::vector<protocol::LeaseId> leases;
  leases.reserve(wire.size());
  for (const uint64_t id : wire) leases.emplace_back(id);
  return leases;
}

void Put(const protocol::Join& join, v1::WorkerMessage& message) {
  v1::Join& wire = *message.mutable_join();
  wire.set_role(EncodeEnum(kRoles, join.role));
  wire.set_worker(join.worker.value());
  *wire.mutable_layout() = Encode(join.layout);
  wire.set_train_samples(join.train_samples);
  wire.set_device(Printable(join.device));
  wire.set_threads(join.threads);
  if (join.attempt) wire.set_attempt(*join.attempt);
  wire.set_gradient_type(EncodeEnum(kNumberTypes, join.wire_types.gradients));
  wire.set_parameter_type(EncodeEnum(kNumberTypes, join.wire_types.parameters));
  wire.set_group(join.group);
  wire.set_sampler(Printable(join.sampler));
  for (const protocol::FrozenTensor& tensor : join.frozen) {
    v1::FrozenTensor& one = *wire.add_frozen();
    one.set_name(Printable(tensor.name));
    one.set_type(Printable(tensor.type));
    one.set_digest(Printable(tensor.digest));
  }
}

void Put(const protocol::Heartbeat& beat, v1::WorkerMessage& message) {
  v1::Heartbeat& wire = *message.mutable_heartbeat();
  wire.set_doing(EncodeEnum(kDoings, beat.doing));
  wire.set_steps(beat.steps);
  wire.set_still_ns(EncodeDuration(beat.still));
}

void Put(const protocol::PushDone& done, v1::WorkerMessage& message) {
  v1::PushDone& wire = *message.mutable_push_done();
  *wire.mutable_generation() = Encode(done.generation);
  wire.set_sequence(done.sequence.value());
  wire.set_based_on(done.based_on.value());
  wire.set_steps(done.steps);
  wire.set_samples(done.samples);
  wire.set_correct(done.correct);
  for (const protocol::LeaseId lease : done.leases) wire.add_leases(lease.value());
  wire.mutable_timing()->set_compute_ns(EncodeDuration(done.timing.compute));
  wire.mutable_timing()->set_wait_ns(EncodeDuration(done.timing.wait));
  wire.mutable_timing()->set_communication_ns(EncodeDuration(done.timing.communication));
  wire.mutable_timing()->set_overlapped_ns(EncodeDuration(done.timing.overlapped));
  wire.mutable_timing()->set_injected_ns(EncodeDuration(done.timing.injected));
  wire.mutable_gradient()->set_loss(done.gradient.loss);
  wire.mutable_gradient()->set_squared_norm(done.gradient.squared_norm);
  wire.mutable_gradient()->set_is_finite(done.gradient.is_finite);
  if (done.signals.cpu_available)
    wire.mutable_signals()->set_cpu_available(*done.signals.cpu_available);
  if (done.signals.memory_available) {
    wire.mutable_signals()->set_memory_available_bytes(*done.signals.memory_available);
  }
  wire.set_shard_ns(EncodeDuration(done.shard_time));
  wire.set_spread(done.spread);
  wire.set_pushed_bytes(done.traffic.pushed_bytes);
  wire.set_pulled_bytes(done.traffic.pulled_bytes);
  wire.set_non_finite_tensor(done.non_finite_tensor);
  wire.set_loss_scale(done.loss_scale);
  wire.mutable_without_gradient()->Add(done.without_gradient.begin(), done.without_gradient.end());
  wire.set_skipped(done.skipped);
}

void Put(const protocol::Abandoned& abandoned, v1::WorkerMessage& message) {
  v1::Abandoned& wire = *message.mutable_abandoned();
  wire.set_sequence(abandoned.sequence.value());
  wire.set_reason(EncodeEnum(kAbandonReasons, abandoned.reason));
  wire.set_samples_fit(abandoned.samples_fit);
  for (const protocol::LeaseId lease : abandoned.leases) wire.add_leases(lease.value());
  wire.set_loss_scale(abandoned.loss_scale);
}

void Put(const protocol::Evaluated& evaluated, v1::WorkerMessage& message) {
  v1::Evaluated& wire = *message.mutable_evaluated();
  wire.set_version(evaluated.version.value());
  wire.set_loss(evaluated.loss);
  if (evaluated.accuracy) wire.set_accuracy(*evaluated.accuracy);
  wire.set_samples(evaluated.samples);
  wire.set_accuracy_from(Printable(evaluated.accuracy_from));
  wire.mutable_metrics()->insert(evaluated.metrics.begin(), evaluated.metrics.end());
}

void Put(const protocol::Leaving& leaving, v1::WorkerMessage& message) {
  message.mutable_leaving()->set_is_done(leaving.is_done);
}

void Put(const protocol::Failing& failing, v1::WorkerMessage& message) {
  message.mutable_failing()->set_reason(Printable(failing.reason));
  message.mutable_failing()->set_cause(Printable(failing.cause));
}

void Put(const protocol::Drawn& drawn, v1::WorkerMessage& message) {
  v1::Drawn& wire = *message.mutable_drawn();
  wire.set_epoch(drawn.epoch);
  wire.set_positions(drawn.positions);
  wire.set_digest(drawn.digest);
}

StatusOr<protocol::WorkerMessage> Take(const v1::Join& wire) {
  protocol::Join join{.worker = WorkerId(wire.worker()), .train_samples = wire.train_samples()};
  PACELINE_ASSIGN_OR_RETURN(join.role, DecodeEnum(kRoles, wire.role(), "role"));
  PACELINE_ASSIGN_OR_RETURN(join.layout, Decode(wire.layout()));
  join.device = wire.device();
  join.threads = wire.threads();
  if (wire.has_attempt()) join.attempt = wire.attempt();
  PACELINE_ASSIGN_OR_RETURN(join.wire_types.gradients,
                            DecodeEnum(kNumberTypes, wire.gradient_type(), "gradient type"));
  PACELINE_ASSIGN_OR_RETURN(join.wire_types.parameters,
                            DecodeEnum(kNumberTypes, wire.parameter_type(), "parameter type"));
  join.group = wire.group();
  join.sampler = wire.sampler();
  for (const v1::FrozenTensor& one : wire.frozen())
    join.frozen.push_back({one.name(), one.type(), one.digest()});
  return join;
}

StatusOr<protocol::WorkerMessage> Take(const v1::Heartbeat& wire) {
  protocol::Heartbeat beat{.steps = wire.steps(), .still = DecodeDuration(wire.still_ns())};
  PACELINE_ASSIGN_OR_RETURN(beat.doing, DecodeEnum(kDoings, wire.doing(), "doing"));
  return beat;
}

protocol::PushDone Take(const v1::PushDone& wire) {
  protocol::PushDone done{
      .generation = Decode(wire.generation()),
      .sequence = Sequence(wire.sequence()),
      .based_on = Version(wire.based_on()),
      .steps = wire.steps(),
      .samples = wire.samples(),
      .correct = wire.correct(),
      .leases = DecodeLeases(wire.leases()),
      .timing = {.compute = DecodeDuration(wire.timing().compute_ns()),
                 .wait = DecodeDuration(wire.timing().wait_ns()),
                 .communication = DecodeDuration(wire.timing().communication_ns()),
                 .overlapped = DecodeDuration(wire.timing().overlapped_ns()),
                 .injected = DecodeDuration(wire.timing().injected_ns())},
      .gradient = {.loss = wire.gradient().loss(),
                   .squared_norm = wire.gradient().squared_norm(),
                   .is_finite = wire.gradient().is_finite()},
      .shard_time = DecodeDuration(wire.shard_ns()),
      .spread = wire.spread(),
      .traffic = {.pushed_bytes = wire.pushed_bytes(), .pulled_bytes = wire.pulled_bytes()},
      .non_finite_tensor = wire.non_finite_tensor(),
      .loss_scale = wire.loss_scale(),
      .without_gradient = {wire.without_gradient().begin(), wire.without_gradient().end()},
      .skipped = wire.skipped(),
  };
  if (wire.signals().has_cpu_available())
    done.signals.cpu_available = wire.signals().cpu_available();
  if (wire.signals().has_memory_available_bytes()) {
    done.signals.memory_available = wire.signals().memory_available_bytes();
  }
  return done;
}

StatusOr<protocol::WorkerMessage> Take(const v1::Abandoned& wire) {
  PACELINE_ASSIGN_OR_RETURN(const sync::AbandonReason reason,
                            DecodeEnum(kAbandonReasons, wire.reason(), "reason of abandoned"));
  return protocol::Abandoned{.sequence = Sequence(wire.sequence()),
                             .reason = reason,
                             .samples_fit = wire.samples_fit(),
                             .leases = DecodeLeases(wire.leases()),
                             .loss_scale = wire.loss_scale()};
}

protocol::Evaluated Take(const v1::Evaluated& wire) {
  return {.version = Version(wire.version()),
          .loss = wire.loss(),
          .accuracy = wire.has_accuracy() ? std::optional(wire.accuracy()) : std::nullopt,
          .samples = wire.samples(),
          .accuracy_from = wire.accuracy_from(),
          .metrics = {wire.metrics().begin(), wire.metrics().end()}};
}

}  // namespace

v1::WorkerMessage Encode(const protocol::WorkerMessage& message) {
  v1::WorkerMessage wire;
  std::visit([&](const auto& said) { Put(said, wire); }, message);
  return wire;
}

StatusOr<protocol::WorkerMessage> Decode(const v1::WorkerMessage& message) {
  switch (message.said_case()) {
    case v1::WorkerMessage::kJoin:
      return Take(message.join());
    case v1::WorkerMessage::kHeartbeat:
      return Take(message.heartbeat());
    case v1::WorkerMessage::kPushDone:
      return Take(message.push_done());
    case v1::WorkerMessage::kAbandoned:
      return Take(message.abandoned());
    case v1::WorkerMessage::kEvaluated:
      return Take(message.evaluated());
    case v1::WorkerMessage::kLeaving:
      return protocol::Leaving{message.leaving().is_done()};
    case v1::WorkerMessage::kFailing:
      return protocol::Failing{message.failing().reason(), message.failing().cause()};
    case v1::WorkerMessage::kDrawn:
      return protocol::Drawn{message.drawn().epoch(), message.drawn().positions(),
                             message.drawn().digest()};
    case v1::WorkerMessage::SAID_NOT_SET:
      break;
  }
  return InvalidArgument("worker message says nothing that this version knows");
}

}  // namespace paceline::rpc
