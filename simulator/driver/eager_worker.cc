#include "simulator/driver/eager_worker.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace paceline::simulator {

EagerWorker::EagerWorker(World& world, uint32_t index, uint16_t life)
    : VirtualWorker(world, index, life), copy_(world.options.momentum) {}

// --- Orders.

void EagerWorker::Release(const protocol::Released& released) {
  is_wanted_ = true;
  answered_ = std::max(answered_, released.includes);
  if (turns_.empty() && !is_stepping_ && !made_ && !sent_) has_paused_ = true;
  Add(released.lease, released.learning_rate, released.assignment);
}

void EagerWorker::Continue(const protocol::Continued& continued) {
  Add(continued.lease, continued.learning_rate, continued.assignment);
}

// An answer without samples is pulled and used alike.
void EagerWorker::Add(const protocol::Lease& lease, double learning_rate,
                      const sync::Assignment& assignment) {
  scale_ = assignment.learning_rate_scale;
  depth_ = assignment.depth;
  if (!lease.ranges.empty()) turns_.push_back({lease, learning_rate});
  GoOn();
}

// --- Computing.

// What names a version goes before what would have to wait for the next one's naming.
void EagerWorker::GoOn() {
  if (!is_stepping_) {
    while (MaySend() || MayTakeIn()) MaySend() ? Send() : TakeIn();
    is_stepping_ = MayStep();
    if (is_stepping_) {
      BeginStep(SamplesOf(turns_.front().lease));
    } else {
      Switch(sent_ || is_wanted_ || pulling_ ? Activity::kCommunication : Activity::kWait);
    }
  }
  if (MayPull()) Pull();
  if (sent_ && !is_pushing_) Push();
}

bool EagerWorker::MayStep() const {
  if (turns_.empty() || !base_ || made_ || has_paused_ || is_spoilt_) return false;
  return own_.size() <= depth_;
}

void EagerWorker::Computed() {
  Switch(Activity::kWait);
  is_stepping_ = false;
  Turn turn = std::move(turns_.front());
  turns_.pop_front();
  Values gradient;
  const double loss = Gradient(copy_.values(), turn.lease, gradient);
  made_.emplace();
  made_->tally.Add(std::move(turn.lease), loss);
  made_->based_on = *base_;
  copy_.Step(gradient, turn.learning_rate);
  GoOn();
}

void EagerWorker::Send() {
  sent_.emplace(Sent{});
  sent_->made = *std::exchange(made_, std::nullopt);
  sent_->delta = copy_.Cut(scale_);
  sent_->timing = TakeTiming();
  sequence_ = sequence_.Next();
  const bool is_finite =
      std::isfinite(SquaredNorm(sent_->delta)) && std::isfinite(sent_->made.tally.loss_sum);
  own_.Add(sequence_, is_finite ? sent_->delta : Values());
  if (is_finite) return;
  copy_.Forget();
  is_spoilt_ = true;
}

void EagerWorker::TakeIn() {
  const Brought brought = *std::exchange(pulled_, std::nullopt);
  own_.Answered(brought.includes);
  Values values = *brought.copy.values;
  own_.AddTo(values);
  copy_.Begin(values);
  base_ = brought.copy.version;
  is_spoilt_ = false;
  // After a pause the newest is waited for.
  if (!is_wanted_ && !pulling_) has_paused_ = false;
}

// --- Transfers.

void EagerWorker::Push() {
  is_pushing_ = true;
  sent_->began = world_.now;
  BeginTransfer(Direction::kPush);
}

void EagerWorker::Pushed() {
  is_pushing_ = false;
  pushed_ = sequence_;
  Sent sent = *std::exchange(sent_, std::nullopt);
  SayPushed(sent.made.tally, sent.made.based_on, sent.timing, sent.began, std::move(sent.delta));
  GoOn();
}

// No push of its own is on its way or unanswered: what the newest version holds of them is known.
void EagerWorker::Pull() {
  is_wanted_ = false;
  pulling_ = Brought{world_.shard.newest(), answered_};
  BeginTransfer(Direction::kPull);
}

void EagerWorker::Pulled() {
  pulled_ = std::exchange(pulling_, std::nullopt);
  GoOn();
}

}  // namespace paceline::simulator
