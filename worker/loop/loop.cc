#include "worker/loop/loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "lib/base/overloaded.h"
#include "lib/protocol/words.h"
#include "lib/telemetry/log.h"

namespace paceline::worker {

using telemetry::Log;
using telemetry::LogLevel;

namespace {

constexpr int kPullAttemptsMax = 10;

// The session is lost, not the worker: joining anew may help.
bool IsSessionLoss(const Status& status) {
  return status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kCancelled ||
         status.code() == StatusCode::kAborted || status.code() == StatusCode::kFailedPrecondition;
}

// After a batch that did not: a tenth less, so that little memory is left unused once some batch
// fits.
uint32_t LargestThoughtToFit(uint64_t samples) {
  return static_cast<uint32_t>(std::max<uint64_t>(1, samples * 9 / 10));
}

}  // namespace

Loop::Loop(LoopOptions options, Connector connector, Trainer* trainer)
    : options_(std::move(options)),
      connector_(std::move(connector)),
      trainer_(trainer),
      stopwatch_(options_.now) {}

Loop::~Loop() = default;

StatusOr<std::string> Loop::Run() {
  Time had_work = options_.now();
  Duration backoff = options_.backoff_min;
  while (true) {
    has_work_ = false;
    StatusOr<std::string> end = RunSession();
    heartbeat_.reset();
    if (end.ok() || !IsSessionLoss(end.status())) return end;
    {
      std::lock_guard lock(mutex_);
      if (is_draining_) return std::string("drained");
    }
    if (has_work_) {
      had_work = options_.now();
      backoff = options_.backoff_min;
    } else if (options_.now() - had_work >= options_.rejoin_timeout) {
      return Unavailable("gave up after {:g} s without work: {}",
                         ToSeconds(options_.rejoin_timeout), Message(end.status()));
    }
    Log(LogLevel::kWarning, "session lost, joining anew", {{"reason", Message(end.status())}});
    Pause(backoff);
    backoff = std::min(backoff * 2, options_.backoff_max);
  }
}

void Loop::Pause(Duration duration) {
  std::unique_lock lock(mutex_);
  draining_.wait_for(lock, duration, [this] { return is_draining_; });
}

void Loop::Drain() {
  std::shared_ptr<Session> idle_session;
  {
    std::lock_guard lock(mutex_);
    is_draining_ = true;
    draining_.notify_all();
    if (!is_busy_) idle_session = live_session_.lock();
  }
  if (idle_session != nullptr) (void)idle_session->Send(protocol::Leaving{});
}

StatusOr<std::string> Loop::RunSession() {
  shards_.reset();
  next_sequence_ = Sequence{1};
  announced_ = Version{};
  {
    std::lock_guard lock(mutex_);
    if (is_draining_) return std::string("drained");
  }
  StatusOr<std::unique_ptr<Session>> connected = connector_.connect();
  if (!connected.ok())
    return Unavailable("coordinator cannot be reached: {}", Message(connected.status()));
  session_ = *std::move(connected);
  {
    std::lock_guard lock(mutex_);
    is_busy_ = false;
    live_session_ = session_;
    if (is_draining_) return std::string("drained");
  }
  PACELINE_RETURN_IF_ERROR(
      session_->Send(protocol::Join{.role = options_.role,
                                    .worker = options_.worker,
                                    .layout = trainer_->layout(),
                                    .train_samples = trainer_->train_samples()}));
  while (true) {
    stopwatch_.Switch(Activity::kWait);
    StatusOr<protocol::WorkerOrder> order = session_->Receive(options_.order_timeout);
    if (!order.ok()) {
      if (order.status().code() == StatusCode::kDeadlineExceeded) {
        return Unavailable("no order for {} s", ToSeconds(options_.order_timeout));
      }
      return order.status();
    }
    PACELINE_ASSIGN_OR_RETURN(const std::optional<std::string> end, Obey(*order));
    if (end) return *end;
  }
}

StatusOr<std::optional<std::string>> Loop::Obey(const protocol::WorkerOrder& order) {
  using End = StatusOr<std::optional<std::string>>;
  const auto go_on = [](const Status& status) -> End {
    if (!status.ok()) return status;
    return std::optional<std::string>();
  };
  return std::visit(
      Overloaded{
          [&](const protocol::Admitted& admitted) -> End {
            admitted_ = admitted;
            heartbeat_.emplace(session_, admitted.heartbeat_period);
            return std::optional<std::string>();
          },
          [&](const protocol::Shards& shards) -> End {
            PACELINE_ASSIGN_OR_RETURN(shards_,
                                      connector_.open_shards(admitted_.generation, shards.shards));
            return std::optional<std::string>();
          },
          [&](const protocol::Refused& refused) -> End {
            if (refused.reason == protocol::RefuseReason::kFinished)
              return std::optional<std::string>("the job is over");
            const std::string words =
                fmt::format("refused: {}: {}", ToString(refused.reason), refused.detail);
            if (refused.reason == protocol::RefuseReason::kAlreadyJoined)
              return Unavailable("{}", words);
            return PermissionDenied("{}", words);
          },
          [&](const protocol::Fill&) -> End { return go_on(FillShards()); },
          [&](const protocol::Released& released) -> End { return go_on(Train(released)); },
          [&](const protocol::Offered& offered) -> End {
            announced_ = std::max(announced_, offered.version);
            return std::optional<std::string>();
          },
          [&](const protocol::Continued&) -> End {
            return Unimplemented("pacings other than wait need a newer worker");
          },
          [&](const protocol::Interrupted&) -> End { return std::optional<std::string>(); },
          [&](const protocol::Expelled& expelled) -> End {
            return PermissionDenied("expelled: {}", expelled.reason);
          },
          [&](const protocol::Evaluate& evaluate) -> End { return go_on(Evaluate(evaluate)); },
          [&](const protocol::Finish& finish) -> End {
            return std::optional<std::string>(finish.reason);
          },
      },
      order);
}

Status Loop::FillShards() {
  if (shards_ == nullptr) return FailedPrecondition("fill came before the shards' addresses");
  has_work_ = true;
  if (std::exchange(has_pulled_, false)) {
    if (const Status anew = trainer_->BeginAnew(); !anew.ok())
      return Internal("the model cannot be made anew: {}", Message(anew));
  }
  // The trainer's memory lives as long as the process; no owner is needed.
  return shards_->Fill(options_.worker, admitted_.incarnation, trainer_->parameters(), nullptr);
}

StatusOr<Version> Loop::Pull(Version version, sync::Exactness exactness) {
  if (shards_ == nullptr) return FailedPrecondition("a version came before the shards' addresses");
  announced_ = std::max(announced_, version);
  has_work_ = has_pulled_ = true;
  for (int attempt = 0; attempt < kPullAttemptsMax; ++attempt) {
    PACELINE_ASSIGN_OR_RETURN(const rpc::PullReport report,
                              shards_->Pull(version, exactness, trainer_->parameters()));
    if (!report.is_superseded) return report.oldest;
    // Only what the coordinator announced is known to be on all shards; if it spoke of nothing
    // newer yet, the session is stale.
    if (announced_ <= version) break;
    version = announced_;
  }
  return Aborted("version was superseded: {}", version);
}

Status Loop::Train(const protocol::Released& released) {
  {
    std::lock_guard lock(mutex_);
    if (is_draining_) return OkStatus();  // Leaving is on its way and hands the lease back.
    is_busy_ = true;
  }
  stopwatch_.Switch(Activity::kCommunication);
  PACELINE_ASSIGN_OR_RETURN(const Version based_on, Pull(released.version, released.exactness));
  stopwatch_.Switch(Activity::kCompute);
  const StatusOr<StepResult> step = trainer_->Step(released.lease.ranges);
  if (!step.ok()) return GiveUp(released, step.status());
  stopwatch_.Switch(Activity::kCommunication);
  const Sequence sequence = next_sequence_;
  const Time push_began = options_.now();
  const StatusOr<rpc::PushReport> report =
      shards_->Push({options_.worker, admitted_.incarnation, sequence}, trainer_->push(), nullptr);
  if (!report.ok()) {
    // Fenced: this incarnation was declared lost while it was computing, and the worker may have a
    // new one.
    if (report.status().code() != StatusCode::kPermissionDenied) return report.status();
    return Aborted("push refused: {}", Message(report.status()));
  }
  next_sequence_ = next_sequence_.Next();
  protocol::PushDone done{.generation = admitted_.generation,
                          .sequence = sequence,
                          .based_on = based_on,
                          .steps = 1,
                          .samples = static_cast<uint32_t>(step->samples),
                          .correct = step->correct,
                          .leases = {released.lease.id},
                          .timing = stopwatch_.Take(),
                          .gradient = {.loss = step->loss,
                                       .squared_norm = report->squared_norm,
                                       .is_finite = report->is_finite && std::isfinite(step->loss)},
                          .shard_time = options_.now() - push_began};
  if (options_.read_signals) done.signals = options_.read_signals(options_.now());
  PACELINE_RETURN_IF_ERROR(session_->Send(done));
  return LeaveIfDraining();
}

Status Loop::LeaveIfDraining() {
  {
    std::lock_guard lock(mutex_);
    is_busy_ = false;
    if (!is_draining_) return OkStatus();
  }
  return session_->Send(protocol::Leaving{});
}

// A batch that does not fit is handed back and said so; anything else ends the worker, with words
// for the user.
Status Loop::GiveUp(const protocol::Released& released, const Status& why) {
  uint64_t samples = 0;
  for (const protocol::SampleRange& range : released.lease.ranges) samples += range.size();
  if (why.code() == StatusCode::kResourceExhausted && samples > 1) {
    const Sequence sequence = std::exchange(next_sequence_, next_sequence_.Next());
    (void)stopwatch_.Take();  // What came to nothing says nothing of the next step's speed.
    PACELINE_RETURN_IF_ERROR(
        session_->Send(protocol::Abandoned{.sequence = sequence,
                                           .reason = sync::AbandonReason::kOutOfMemory,
                                           .samples_fit = LargestThoughtToFit(samples),
                                           .leases = {released.lease.id}}));
    return LeaveIfDraining();
  }
  (void)session_->Send(protocol::Failing{Message(why)});
  // Internal, whatever the trainer called it: no new session mends it.
  return Internal("step failed: {}", Message(why));
}

Status Loop::Evaluate(const protocol::Evaluate& order) {
  PACELINE_ASSIGN_OR_RETURN(const Version version, Pull(order.version, sync::Exactness::kExact));
  const StatusOr<Evaluation> evaluation = trainer_->Evaluate();
  if (!evaluation.ok()) {
    (void)session_->Send(protocol::Failing{Message(evaluation.status())});
    return Internal("evaluation failed: {}", Message(evaluation.status()));
  }
  return session_->Send(protocol::Evaluated{.version = version,
                                            .loss = evaluation->loss,
                                            .accuracy = evaluation->accuracy,
                                            .samples = evaluation->samples});
}

}  // namespace paceline::worker
