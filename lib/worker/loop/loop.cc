#include "lib/worker/loop/loop.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/overloaded.h"
#include "lib/protocol/words.h"
#include "lib/telemetry/log.h"

namespace paceline::worker {

using telemetry::Log;
using telemetry::LogLevel;

namespace {

// The session is lost, not the worker: joining anew may help.
bool IsSessionLoss(const Status& status) {
  return status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kCancelled ||
         status.code() == StatusCode::kAborted || status.code() == StatusCode::kFailedPrecondition;
}

}  // namespace

Loop::Loop(LoopOptions options, Connector connector, Trainer* trainer)
    : options_(std::move(options)),
      connector_(std::move(connector)),
      trainer_(trainer),
      stop_(std::make_shared<StepStop>(options_.now)),
      stopwatch_(options_.now) {}

Loop::~Loop() { ComputeOnOwnMemory(); }

StatusOr<std::string> Loop::Run() {
  Time had_work = options_.now();
  Duration backoff = options_.backoff_min;
  while (true) {
    has_work_ = false;
    StatusOr<std::string> end = RunSession();
    // It waits for a step in work: the heartbeat is there yet should that one hang.
    const std::optional<Status> own = StopAhead();
    heartbeat_.reset();
    if (own && !end.ok() && IsSessionLoss(end.status())) end = *own;  // It ended the session.
    SayInterrupts();
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

void Loop::SayInterrupts() const {
  const StepStop::Cost cost = stop_->cost();
  if (cost.steps == 0) return;
  const auto steps = static_cast<double>(cost.steps);
  Log(LogLevel::kInfo, "steps were interrupted",
      {{"steps", cost.steps},
       {"seconds_until_stopped_mean", ToSeconds(cost.until_stopped) / steps},
       {"seconds_until_next_step_mean", ToSeconds(cost.until_next) / steps},
       {"seconds_until_next_step_max", ToSeconds(cost.until_next_max)}});
}

std::string Loop::Sampler() const {
  return options_.drawn == nullptr ? std::string() : options_.drawn->sampler();
}

void Loop::Pause(Duration duration) {
  std::unique_lock lock(mutex_);
  draining_.wait_for(lock, duration, [this] { return is_draining_; });
}

void Loop::Drain(const protocol::Leaving& leaving) {
  std::shared_ptr<Session> idle_session;
  std::shared_ptr<WorkAhead> ahead;
  protocol::Leaving words;
  {
    std::lock_guard lock(mutex_);
    if (!is_draining_) leaving_ = leaving;
    words = leaving_;
    is_draining_ = true;
    draining_.notify_all();
    stop_->Hurry();
    ahead = ahead_;
    if (!is_busy_ && ahead == nullptr) idle_session = live_session_.lock();
  }
  if (ahead != nullptr) ahead->Drain(words);
  if (idle_session != nullptr) (void)idle_session->Send(words);
}

StatusOr<std::string> Loop::RunSession() {
  ComputeOnOwnMemory();  // What is held is held no longer than there are transfers.
  transfers_.reset();
  local_.reset();
  {
    std::lock_guard lock(mutex_);
    if (is_draining_) return std::string("drained");
  }
  StatusOr<std::unique_ptr<Session>> connected = connector_.connect();
  if (!connected.ok())
    return Unavailable("coordinator cannot be reached: {}", Message(connected.status()));
  session_ = *std::move(connected);  // The former one is gone, and interrupts nobody any more.
  stop_->Reset();
  session_->OnInterrupt([stop = stop_](Sequence sequence) { stop->Interrupt(sequence); });
  {
    std::lock_guard lock(mutex_);
    is_busy_ = false;
    live_session_ = session_;
    if (is_draining_) return std::string("drained");
  }
  PACELINE_RETURN_IF_ERROR(session_->Send(protocol::Join{.role = options_.role,
                                                         .worker = options_.worker,
                                                         .layout = trainer_->layout(),
                                                         .train_samples = trainer_->train_samples(),
                                                         .device = options_.device,
                                                         .attempt = options_.attempt,
                                                         .wire_types = options_.wire_types,
                                                         .threads = options_.threads,
                                                         .group = options_.group,
                                                         .sampler = Sampler(),
                                                         .frozen = options_.frozen}));
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
            if (!Sampler().empty() && !admitted.compares_draws) {
              return PermissionDenied(
                  "run the job with parameter servers of this package's version: those of this job "
                  "know nothing of a sampler of the script's own, and cannot see that workers draw "
                  "alike from {}",
                  Sampler());
            }
            if (!options_.frozen.empty() && !admitted.compares_frozen) {
              return PermissionDenied(
                  "run the job with parameter servers of this package's version: those of this job "
                  "do not compare frozen parameters, which each worker has by itself: {} of them, "
                  "{} "
                  "the first",
                  options_.frozen.size(), options_.frozen.front().name);
            }
            heartbeat_.emplace(session_,
                               HeartbeatOptions{.period = admitted.heartbeat_period,
                                                .pulse = options_.pulse,
                                                .on_stuck = options_.on_stuck,
                                                .stuck_after = options_.stuck_after,
                                                .stuck_alone_after = options_.stuck_alone_after});
            if (options_.drawn != nullptr) options_.drawn->TellTo(session_);
            return std::optional<std::string>();
          },
          [&](const protocol::Shards& shards) -> End {
            PACELINE_ASSIGN_OR_RETURN(
                auto client,
                connector_.open_shards(admitted_.generation, shards.shards, trainer_->layout()));
            (void)StopAhead();
            ComputeOnOwnMemory();  // The shards that hold what is held are asked no more.
            transfers_ =
                std::make_unique<Transfers>(admitted_.worker.value_or(options_.worker), admitted_,
                                            std::move(client), trainer_->layout(), options_.pulse);
            return std::optional<std::string>();
          },
          [&](const protocol::Refused& refused) -> End {
            if (refused.reason == protocol::RefuseReason::kFinished)
              return std::optional<std::string>("the job is over");
            const std::string words =
                fmt::format("refused: {}: {}", ToString(refused.reason), refused.detail);
            if (refused.reason == protocol::RefuseReason::kAlreadyJoined)
              return Unavailable("{}", words);
            if (refused.reason == protocol::RefuseReason::kExpelled)
              return WithDetail(PermissionDenied("{}", words), kExpelledDetail, "");
            if (refused.reason == protocol::RefuseReason::kHoldsFrozen)
              return WithDetail(PermissionDenied("{}", words), kHoldsFrozenDetail, "");
            return PermissionDenied("{}", words);
          },
          [&](const protocol::Fill&) -> End { return go_on(FillShards()); },
          [&](const protocol::Released& released) -> End { return go_on(Release(released)); },
          [&](const protocol::Offered& offered) -> End {
            if (transfers_ != nullptr) transfers_->Announce(offered.version);
            if (ahead_ != nullptr) ahead_->Offer(offered.version);
            return std::optional<std::string>();
          },
          [&](const protocol::Continued& continued) -> End { return go_on(Continue(continued)); },
          [&](const protocol::Interrupted&) -> End { return std::optional<std::string>(); },
          [&](const protocol::Expelled& expelled) -> End {
            return WithDetail(PermissionDenied("expelled: {}", expelled.reason), kExpelledDetail,
                              "");
          },
          [&](const protocol::Evaluate& evaluate) -> End { return go_on(Evaluate(evaluate)); },
          [&](const protocol::Finish& finish) -> End {
            return std::optional<std::string>(finish.reason);
          },
      },
      order);
}

Status Loop::FillShards() {
  if (transfers_ == nullptr) return FailedPrecondition("fill came before the shards' addresses");
  has_work_ = true;
  ComputeOnOwnMemory();
  if (std::exchange(has_pulled_, false)) {
    if (const Status anew = trainer_->BeginAnew(); !anew.ok())
      return Internal("the model cannot be made anew: {}", Message(anew));
  }
  return transfers_->Fill(trainer_->parameters());
}

StatusOr<Version> Loop::Pull(Version version, sync::Exactness exactness) {
  if (transfers_ == nullptr)
    return FailedPrecondition("a version came before the shards' addresses");
  has_work_ = has_pulled_ = true;
  ComputeOnOwnMemory();
  return transfers_->Pull(version, exactness, trainer_->parameters());
}

StatusOr<Version> Loop::TakeUp(Version version, sync::Exactness exactness) {
  if (transfers_ != nullptr && trainer_->computes_anywhere()) {
    has_work_ = has_pulled_ = true;
    PACELINE_ASSIGN_OR_RETURN(
        const std::optional<Version> held,
        transfers_->Hold(version, exactness,
                         [this](const std::shared_ptr<rpc::VersionPlace>& place) {
                           const bool is_taken = trainer_->ComputeOn(place);
                           held_ = is_taken ? place : nullptr;
                           return is_taken;
                         }));
    if (held) return *held;
  }
  return Pull(version, exactness);
}

void Loop::ComputeOnOwnMemory() {
  if (held_ == nullptr) return;
  trainer_->ComputeOn(nullptr);
  held_.reset();
}

Status Loop::Evaluate(const protocol::Evaluate& order) {
  PACELINE_ASSIGN_OR_RETURN(const Version version, Pull(order.version, sync::Exactness::kExact));
  if (version != order.version)  // Pinned until it is evaluated: nobody waits for it any more.
    return Aborted("version to evaluate was superseded: {}", order.version);
  const StatusOr<Evaluation> evaluation = trainer_->Evaluate({});
  if (!evaluation.ok()) {
    (void)session_->Send(protocol::Failing{Message(evaluation.status())});
    return Internal("evaluation failed: {}", Message(evaluation.status()));
  }
  // The same for every version: said once.
  if (evaluation->accuracy_from != accuracy_from_) {
    accuracy_from_ = evaluation->accuracy_from;
    Log(evaluation->accuracy ? LogLevel::kInfo : LogLevel::kWarning,
        evaluation->accuracy ? "accuracy is judged" : "accuracy is unknown",
        {{evaluation->accuracy ? "by" : "why", accuracy_from_}});
  }
  return session_->Send(protocol::Evaluated{.version = version,
                                            .loss = evaluation->loss,
                                            .accuracy = evaluation->accuracy,
                                            .samples = evaluation->samples,
                                            .accuracy_from = evaluation->accuracy_from,
                                            .metrics = evaluation->metrics});
}

}  // namespace paceline::worker
