#include "simulator/driver/virtual_worker.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "lib/coordination/coordinator.h"

namespace paceline::simulator {

using Kind = Happening::Kind;

uint32_t SamplesOf(const protocol::Lease& lease) {
  uint64_t samples = 0;
  for (const protocol::SampleRange& range : lease.ranges) samples += range.size();
  return static_cast<uint32_t>(samples);
}

void Tally::Add(protocol::Lease lease, double loss) {
  ++steps;
  samples += SamplesOf(lease);
  loss_sum += loss * SamplesOf(lease);
  leases.push_back(std::move(lease));
}

VirtualWorker::VirtualWorker(World& world, uint32_t index, uint16_t life)
    : world_(world), index_(index), life_(life) {
  spent_.Switch(world.now, Activity::kWait);
  (void)spent_.Take();
}

void VirtualWorker::Happen(const Happening& happening) {
  switch (happening.kind) {
    case Kind::kComputed:
      if (happening.turn == turn_) Computed();
      return;
    case Kind::kGivenUp:
      if (happening.turn == turn_) GivenUp();
      return;
    case Kind::kArrived:
      spent_.TransferEnds(world_.now);
      Show(happening.direction == Direction::kPull ? Occurrence::What::kPull
                                                   : Occurrence::What::kPush,
           transfers_began_[static_cast<size_t>(happening.direction)]);
      return happening.direction == Direction::kPull ? Pulled() : Pushed();
    case Kind::kLinkFree:
    case Kind::kAnswered:
    case Kind::kCrashes:
    case Kind::kMissed:
    case Kind::kJoins:
      return;
  }
}

Duration VirtualWorker::Switch(Activity activity) {
  const Activity before = spent_.activity();
  const Duration spent = spent_.Switch(world_.now, activity);
  if (activity != before) {
    if (before == Activity::kCompute) Show(Occurrence::What::kCompute, active_since_);
    active_since_ = world_.now;
  }
  if (before == Activity::kCompute) {
    world_.life.compute_seconds += ToSeconds(spent);
    unpushed_seconds_ += ToSeconds(spent);
  }
  if (before == Activity::kCommunication) world_.life.transfer_seconds += ToSeconds(spent);
  return spent;
}

void VirtualWorker::Show(Occurrence::What what, Time from) const {
  if (world_.options.watch)
    world_.options.watch(
        {.what = what, .worker = index_, .from = from, .to = world_.now, .version = {}});
}

void VirtualWorker::Waste() { world_.life.wasted_seconds += std::exchange(unpushed_seconds_, 0); }

void VirtualWorker::Vanish() {
  Switch(Activity::kWait);
  Waste();
}

double VirtualWorker::Gradient(const Values& at, const protocol::Lease& samples, Values& gradient) {
  ranges_.clear();
  for (const protocol::SampleRange& range : samples.ranges)
    ranges_.push_back({range.epoch, range.begin, range.end});
  return world_.objective.Gradient(at, ranges_, world_.hosts[index_].chance, gradient);
}

void VirtualWorker::BeginStep(uint32_t samples) {
  Switch(Activity::kCompute);
  Duration takes = world_.hosts[index_].computing.Step(world_.now, samples);
  if (!world_.delays.empty()) {
    takes += world_.delays[index_].After({.index = steps_++, .samples = samples, .compute = takes});
  }
  world_.queue.Put(world_.now + takes,
                   {.kind = Kind::kComputed, .life = life_, .worker = index_, .turn = turn_});
}

void VirtualWorker::BeginTransfer(Direction direction) {
  spent_.TransferBegins(world_.now);
  transfers_began_[static_cast<size_t>(direction)] = world_.now;
  world_.wires.Send(world_.now, index_, life_, direction);
}

sync::Timing VirtualWorker::TakeTiming() {
  Switch(spent_.activity());
  sync::Timing timing = spent_.Take();
  timing.overlapped = spent_.TakeOverlapped(world_.now, timing);
  return timing;
}

void VirtualWorker::SayPushed(const Tally& tally, Version based_on, const sync::Timing& timing,
                              Time began, Values payload) {
  ++world_.life.pushes;
  protocol::PushDone done;
  done.generation = coordination::CoordinatorOptions().generation;
  done.sequence = sequence_;
  done.based_on = based_on;
  done.steps = tally.steps;
  done.samples = tally.samples;
  for (const protocol::Lease& lease : tally.leases) done.leases.push_back(lease.id);
  done.timing = timing;
  done.gradient = {.loss = tally.loss_sum / tally.samples, .squared_norm = SquaredNorm(payload)};
  done.gradient.is_finite =
      std::isfinite(done.gradient.squared_norm) && std::isfinite(done.gradient.loss);
  done.shard_time = world_.now - began;
  done.signals.cpu_available = world_.hosts[index_].computing.CpuShare(world_.now);
  const double seconds = ToSeconds(timing.compute);
  unpushed_seconds_ -= seconds;
  const store::PushId push{WorkerId(index_), incarnation_, sequence_};
  if (world_.options.counted) {
    for (const protocol::Lease& lease : tally.leases)
      std::ranges::copy(lease.ranges, std::back_inserter(world_.samples[push]));
  }
  world_.shard.Stage(push, std::move(payload), seconds);
  world_.say(index_, std::move(done));
}

}  // namespace paceline::simulator
