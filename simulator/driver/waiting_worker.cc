#include "simulator/driver/waiting_worker.h"

#include <utility>

namespace paceline::simulator {

void WaitingWorker::Release(const protocol::Released& released) {
  sequence_ = sequence_.Next();
  lease_ = released.lease;
  base_ = released.exactness == sync::Exactness::kExact ? world_.shard.Get(released.version)
                                                        : world_.shard.newest();
  GoOn();
}

void WaitingWorker::GoOn() {
  if (has_ && has_->version == base_.version) {
    doing_ = Doing::kComputing;
    return BeginStep(SamplesOf(lease_));
  }
  doing_ = Doing::kPulling;
  Switch(Activity::kCommunication);
  if (fetching_) return;
  fetching_ = base_;
  BeginTransfer(Direction::kPull);
}

void WaitingWorker::Pulled() {
  has_ = std::exchange(fetching_, std::nullopt);
  if (doing_ == Doing::kPulling) GoOn();
}

void WaitingWorker::Interrupt(Sequence sequence) {
  const bool is_in_work = doing_ == Doing::kPulling || doing_ == Doing::kComputing;
  if (!is_in_work || sequence_ != sequence) return;
  Switch(Activity::kWait);
  Waste();
  ++world_.life.interrupted;
  Show(Occurrence::What::kGaveUp, world_.now);
  (void)spent_.Take();  // As lib/worker: it says nothing of the next step's speed.
  doing_ = Doing::kWaiting;
  ++turn_;
  world_.queue.Put(
      world_.now + Seconds(world_.options.interrupt_seconds),
      {.kind = Happening::Kind::kGivenUp, .life = life_, .worker = index_, .turn = turn_});
}

void WaitingWorker::GivenUp() {
  world_.say(index_, protocol::Abandoned{.sequence = sequence_, .leases = {lease_.id}});
}

void WaitingWorker::Computed() {
  doing_ = Doing::kPushing;
  Switch(Activity::kCommunication);
  push_began_ = world_.now;
  BeginTransfer(Direction::kPush);
}

void WaitingWorker::Pushed() {
  doing_ = Doing::kWaiting;
  Switch(Activity::kWait);
  Values gradient;
  const double loss = Gradient(*base_.values, lease_, gradient);
  Tally tally;
  tally.Add(std::move(lease_), loss);
  SayPushed(tally, base_.version, spent_.Take(), push_began_, std::move(gradient));
}

}  // namespace paceline::simulator
