#include "simulator/driver/local_steps_worker.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace paceline::simulator {

LocalStepsWorker::LocalStepsWorker(World& world, uint32_t index, uint16_t life)
    : VirtualWorker(world, index, life), copy_(world.options.momentum) {}

// --- Orders.

void LocalStepsWorker::Release(const protocol::Released& released) {
  Want(released.version);
  Add(released.lease, released.assignment, released.learning_rate, released.version);
}

void LocalStepsWorker::Continue(const protocol::Continued& continued) {
  Add(continued.lease, continued.assignment, continued.learning_rate, Version());
}

void LocalStepsWorker::Offer(Version version) {
  Want(version);
  GoOn();
}

void LocalStepsWorker::Want(Version version) {
  wanted_ = std::max(wanted_.value_or(version), version);
}

void LocalStepsWorker::Add(const protocol::Lease& lease, const sync::Assignment& assignment,
                           double learning_rate, Version needs) {
  assignment_ = assignment;
  turns_.push_back({lease, learning_rate * assignment.learning_rate_scale, needs});
  GoOn();
}

// --- Computing.

// Who stands still because something travels communicates; the rest is for want of a lease.
void LocalStepsWorker::GoOn() {
  if (!is_stepping_) {
    while (MayTakeOver() || MayCutOff()) MayTakeOver() ? TakeOver() : CutOff();
    is_stepping_ = MayStep();
    if (is_stepping_) {
      BeginStep(SamplesOf(turns_.front().lease));
    } else {
      Switch(push_ || HasToFetch() ? Activity::kCommunication : Activity::kWait);
    }
  }
  Communicate();
}

bool LocalStepsWorker::MayTakeOver() const {
  if (!incoming_) return false;
  // What is not to be kept on top of the version is cut off first.
  const bool is_kept = assignment_.on_pull == sync::OnPull::kRebase && !is_spoilt_;
  return unpushed_.steps == 0 || is_kept;
}

bool LocalStepsWorker::MayStep() const {
  if (turns_.empty() || is_spoilt_ || !base_) return false;
  return *base_ >= turns_.front().needs && !incoming_;
}

void LocalStepsWorker::TakeOver() {
  if (is_spoilt_ || assignment_.momentum_on_pull == sync::MomentumOnPull::kReset) copy_.Forget();
  if (is_spoilt_ || unpushed_.steps == 0) {
    copy_.Begin(*incoming_->values);
  } else {
    copy_.Rebase(*incoming_->values);
  }
  base_ = std::exchange(incoming_, std::nullopt)->version;
  is_spoilt_ = false;
}

// What waits for its push counts that one's time as its own.
void LocalStepsWorker::CutOff() {
  push_.emplace(Cut{});
  if (IsOverlapped()) push_->timing = TakeTiming();
  push_->tally = std::exchange(unpushed_, {});
  push_->based_on = *base_;
  push_->delta = copy_.Cut();
}

void LocalStepsWorker::Computed() {
  Switch(Activity::kWait);
  is_stepping_ = false;
  Turn turn = std::move(turns_.front());
  turns_.pop_front();
  Values gradient;
  const double loss = Gradient(copy_.values(), turn.lease, gradient);
  copy_.Step(gradient, turn.learning_rate);
  unpushed_.Add(std::move(turn.lease), loss);
  if (!std::isfinite(loss)) is_spoilt_ = true;
  GoOn();
}

// --- Transfers.

bool LocalStepsWorker::HasToFetch() const {
  if (incoming_ || !wanted_) return false;
  if (is_spoilt_) return unpushed_.steps == 0 && !push_;
  return !base_ || *wanted_ > *base_;
}

void LocalStepsWorker::Communicate() {
  if (is_talking_) return;
  if (push_ && !(is_fetch_next_ && HasToFetch())) {
    is_talking_ = is_fetch_next_ = true;
    push_->began = world_.now;
    BeginTransfer(Direction::kPush);
  } else if (HasToFetch()) {
    is_talking_ = true;
    is_fetch_next_ = false;
    fetching_ = world_.shard.Get(*wanted_);
    BeginTransfer(Direction::kPull);
  }
}

void LocalStepsWorker::Pulled() {
  is_talking_ = false;
  incoming_ = std::exchange(fetching_, std::nullopt);
  GoOn();
}

void LocalStepsWorker::Pushed() {
  is_talking_ = false;
  Cut cut = *std::exchange(push_, std::nullopt);
  if (!IsOverlapped()) cut.timing = TakeTiming();
  if (!std::isfinite(SquaredNorm(cut.delta))) is_spoilt_ = true;
  if (!is_stepping_) Switch(Activity::kWait);
  sequence_ = sequence_.Next();
  SayPushed(cut.tally, cut.based_on, cut.timing, cut.began, std::move(cut.delta));
  GoOn();
}

}  // namespace paceline::simulator
