// What the loop does with leases: one step at a time, or ahead of its communication.
#include <cmath>
#include <utility>

#include "lib/worker/loop/loop.h"

namespace paceline::worker {

using sync::Pacing;

namespace {

bool IsAhead(Pacing pacing) {
  return pacing == Pacing::kOverlapped || pacing == Pacing::kEagerPull;
}

// The loop's control, with a push to hand pieces to.
class PushingControl final : public StepControl {
 public:
  PushingControl(StepControl* control, rpc::BegunPush* push) : control_(control), push_(push) {}
  bool MayGoOn() override { return control_->MayGoOn(); }
  void Sleep(Duration duration) override { control_->Sleep(duration); }
  rpc::BegunPush* push() override { return push_; }

 private:
  StepControl* const control_;
  rpc::BegunPush* const push_;
};

}  // namespace

bool Loop::BeginWork() {
  std::lock_guard lock(mutex_);
  if (is_draining_) return false;  // Leaving is on its way and hands the lease back.
  is_busy_ = true;
  return true;
}

Status Loop::Release(const protocol::Released& released) {
  if (IsAhead(released.assignment.pacing)) {
    PACELINE_ASSIGN_OR_RETURN(const auto ahead, Ahead(released.assignment.pacing));
    if (ahead != nullptr) ahead->Release(released);
    return OkStatus();
  }
  if (!BeginWork()) return OkStatus();
  if (const std::optional<Status> stopped = StopAhead()) return *stopped;
  stopwatch_.Switch(Activity::kCommunication);
  // Local steps write to what they compute on.
  const bool is_read_only = sync::PushKindOf(released.assignment.pacing) == PushKind::kGradient;
  PACELINE_ASSIGN_OR_RETURN(base_, is_read_only ? TakeUp(released.version, released.exactness)
                                                : Pull(released.version, released.exactness));
  PACELINE_RETURN_IF_ERROR(PrepareLocalSteps(released.assignment));
  return StepAndPush({released.lease, released.assignment, released.learning_rate});
}

Status Loop::Continue(const protocol::Continued& continued) {
  // A release that names a version on its way may come after it.
  if (IsAhead(continued.assignment.pacing)) {
    PACELINE_ASSIGN_OR_RETURN(const auto ahead, Ahead(continued.assignment.pacing));
    if (ahead != nullptr) ahead->Continue(continued);
    return OkStatus();
  }
  if (!local_) return FailedPrecondition("a continuation came before a release to local steps");
  if (!BeginWork()) return OkStatus();
  return StepAndPush({continued.lease, continued.assignment, continued.learning_rate});
}

// All local steps are pushed by now: the version takes the place of the copy.
Status Loop::PrepareLocalSteps(const sync::Assignment& assignment) {
  if (sync::PushKindOf(assignment.pacing) == PushKind::kGradient) {
    local_.reset();
    return OkStatus();
  }
  const bool is_forgotten =
      is_spoilt_ || assignment.momentum_on_pull == sync::MomentumOnPull::kReset;
  if (!local_) {
    PACELINE_ASSIGN_OR_RETURN(local_, LocalSteps::Create(options_.local, trainer_->layout()));
    delta_.resize(trainer_->layout().total_bytes());
  } else if (is_forgotten) {
    local_->Forget();
  }
  is_spoilt_ = false;
  local_->Begin(trainer_->parameters());
  return OkStatus();
}

Status Loop::StepAndPush(const Turn& turn) {
  // What local steps push is known only after them.
  std::unique_ptr<rpc::BegunPush> begun = local_ ? nullptr : transfers_->Begin();
  PushingControl control(stop_.get(), begun.get());
  stopwatch_.Switch(Activity::kCompute);
  stop_->Begin(transfers_->next_sequence());
  const StatusOr<StepResult> step = trainer_->Step(turn.lease.ranges, control);
  stop_->End(step.status());
  if (!step.ok()) return GiveUp(turn.lease, step.status());
  stopwatch_.Injected(step->injected);
  stopwatch_.Paused(step->paused);
  Tally tally;
  tally.Add(*step, turn.lease.id);
  if (!step->is_handed) begun.reset();
  const std::span<const std::byte> payload =
      begun ? std::span<const std::byte>() : Payload(turn, *step);
  stopwatch_.Switch(Activity::kCommunication);
  const Time push_began = options_.now();
  const PushKind kind = local_ ? PushKind::kDelta : PushKind::kGradient;
  PACELINE_ASSIGN_OR_RETURN(protocol::PushDone done,
                            begun ? transfers_->Seal(*begun, tally, base_)
                                  : transfers_->Push(kind, payload, tally, base_));
  is_spoilt_ = !done.gradient.is_finite;
  done.timing = stopwatch_.Take();
  done.shard_time = options_.now() - push_began;
  if (options_.read_signals) done.signals = options_.read_signals(options_.now());
  PACELINE_RETURN_IF_ERROR(session_->Send(done));
  return LeaveIfDraining();
}

std::span<const std::byte> Loop::Payload(const Turn& turn, const StepResult& step) {
  if (!local_) return trainer_->push();
  local_->Step(trainer_->push(), turn.learning_rate * turn.assignment.learning_rate_scale,
               trainer_->parameters(), step.without_gradient);
  local_->Cut(trainer_->parameters(), delta_);
  return delta_;
}

Status Loop::LeaveIfDraining() {
  protocol::Leaving leaving;
  {
    std::lock_guard lock(mutex_);
    is_busy_ = false;
    if (!is_draining_) return OkStatus();
    leaving = leaving_;
  }
  return session_->Send(leaving);
}

// A batch that does not fit, was interrupted or overflowed is handed back and said so; anything
// else ends the worker, with words for the user.
Status Loop::GiveUp(const protocol::Lease& lease, const Status& why) {
  uint64_t samples = 0;
  for (const protocol::SampleRange& range : lease.ranges) samples += range.size();
  if (const auto reason = AbandonReasonOf(why, samples)) {
    protocol::Abandoned abandoned = transfers_->Abandon(*reason, {lease.id});
    if (*reason == sync::AbandonReason::kOutOfMemory)
      abandoned.samples_fit = LargestThoughtToFit(samples);
    abandoned.loss_scale = trainer_->loss_scale();
    (void)stopwatch_.Take();  // What came to nothing says nothing of the next step's speed.
    PACELINE_RETURN_IF_ERROR(session_->Send(abandoned));
    return LeaveIfDraining();
  }
  (void)session_->Send(FailingOf(why));
  // Internal, whatever the trainer called it: no new session mends it.
  return Internal("step failed: {}", Message(why));
}

StatusOr<std::shared_ptr<WorkAhead>> Loop::Ahead(Pacing pacing) {
  if (transfers_ == nullptr)
    return FailedPrecondition("a release came before the shards' addresses");
  has_work_ = has_pulled_ = true;
  {
    std::lock_guard lock(mutex_);
    if (ahead_ != nullptr && ahead_->pacing() == pacing) return ahead_;
    // Leaving is on its way.
    if (is_draining_ && ahead_ == nullptr) return std::shared_ptr<WorkAhead>();
  }
  if (const std::optional<Status> stopped = StopAhead()) return *stopped;
  local_.reset();
  ComputeOnOwnMemory();
  PACELINE_ASSIGN_OR_RETURN(LocalSteps local,
                            LocalSteps::Create(options_.local, trainer_->layout()));
  Flows::Options options{session_, transfers_.get(), trainer_, options_.now, options_.read_signals};
  std::shared_ptr<WorkAhead> ahead;
  if (pacing == Pacing::kEagerPull) {
    ahead = std::make_shared<EagerPull>(std::move(options), std::move(local));
  } else {
    ahead = std::make_shared<Overlapped>(std::move(options), std::move(local));
  }
  std::lock_guard lock(mutex_);
  ahead_ = ahead;
  if (is_draining_) ahead->Drain(leaving_);
  return ahead;
}

std::optional<Status> Loop::StopAhead() {
  std::shared_ptr<WorkAhead> ahead;
  {
    std::lock_guard lock(mutex_);
    ahead = std::move(ahead_);
  }
  if (ahead == nullptr) return std::nullopt;
  Status status = ahead->status();
  ahead.reset();
  stopwatch_.Take();
  if (status.ok()) return std::nullopt;
  return status;
}

}  // namespace paceline::worker
