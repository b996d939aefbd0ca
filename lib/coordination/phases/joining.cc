#include "lib/coordination/phases/joining.h"

#include "lib/coordination/phases/asking.h"
#include "lib/coordination/phases/changing.h"
#include "lib/coordination/phases/evaluating.h"
#include "lib/coordination/phases/poisoning.h"
#include "lib/coordination/phases/sampling.h"

namespace paceline::coordination {

using protocol::Join;
using protocol::Refused;
using protocol::RefuseReason;
using protocol::Role;

void CompleteSchedule(CoordinatorOptions& options, uint64_t train_samples) {
  optim::ScheduleOptions& schedule = options.schedule;
  if (schedule.total_samples == 0) {
    const uint64_t by_epochs = options.epochs_max * train_samples;
    const uint64_t by_steps = options.steps_max * options.global_batch_size;
    schedule.total_samples =
        by_epochs == 0 || (by_steps > 0 && by_steps < by_epochs) ? by_steps : by_epochs;
  }
  if (schedule.step_samples == 0)
    schedule.step_samples = options.schedule_step_epochs * train_samples;
  if (schedule.period_samples == 0)
    schedule.period_samples = options.schedule_period_epochs * train_samples;
}

namespace {

protocol::Seat SeatOf(const Join& join) { return {join.group, join.worker.value()}; }

void Refuse(Turn turn, ConnectionId connection, const Join& join, WorkerId worker,
            const Refused& refused) {
  const std::string& detail = refused.detail;
  turn.Send(connection, refused);
  turn.effects.push_back(CloseWorker{connection});
  if (join.role == Role::kWorker) {
    turn.effects.push_back(
        WorkerEvent{WorkerEventKind::kRefused, worker, Incarnation(), detail, SeatOf(join)});
  }
}

// Says where a wish comes from, if not from the first worker.
std::string OfCheckpoint(const JobState& job) {
  return job.recovery.from.has_value() ? " as checkpoint " + job.recovery.from->name + " has it"
                                       : "";
}

std::string WhoseFrozen(const JobState& job) {
  return job.recovery.from.has_value() ? "checkpoint " + job.recovery.from->name
                                       : "the other workers";
}

// Why this very process was expelled; empty if it was not, or that cannot be told.
std::string WhyQuarantined(const JobState& job, const Join& join, WorkerId worker) {
  if (join.role != Role::kWorker || !join.attempt) return {};
  const auto found = job.recovery.quarantines.find(worker);
  if (found == job.recovery.quarantines.end() || found->second.attempt != join.attempt) return {};
  return fmt::format("{} was expelled: {}", ToString(SeatOf(join)), found->second.reason);
}

std::string_view NameOf(WireType type) {
  return type == WireType::kBfloat16 ? "BFloat16" : "Float32";
}

// Empty if nothing does.
std::string NetworkDifference(const WireTypes& got, const WireTypes& want) {
  const auto say = [](const char* field, WireType is, WireType wanted) {
    return is == wanted
               ? std::string()
               : fmt::format("spec.network.{} is {}, want {}", field, NameOf(is), NameOf(wanted));
  };
  const std::string gradients = say("gradientType", got.gradients, want.gradients);
  return gradients.empty() ? say("parameterType", got.parameters, want.parameters) : gradients;
}

// Why a newcomer whose layout is not the job's is refused. Where frozen parameters alone make the
// difference, it says what the script has to do.
Refused LayoutRefusal(const JobState& job, const Join& join) {
  const std::vector<optim::ParameterGroup>& groups = job.options.parameter_groups;
  const std::vector<protocol::FrozenTensor> frozen =
      job.frozen.value_or(std::vector<protocol::FrozenTensor>());
  const std::vector<std::string> held =
      protocol::HeldAsFrozen(*job.layout, join.layout, join.frozen, groups);
  if (!held.empty()) {
    return Refused{RefuseReason::kHoldsFrozen,
                   fmt::format("{} of this worker's frozen parameters, {} the first, are "
                               "held by shards according to {}: say paceline.worker(model, "
                               "frozen=\"averaged\")",
                               held.size(), held.front(), WhoseFrozen(job))};
  }
  const std::vector<std::string> averaged =
      protocol::HeldAsFrozen(join.layout, *job.layout, frozen, groups);
  if (!averaged.empty()) {
    return Refused{RefuseReason::kLayoutDiffers,
                   fmt::format("{} parameters that this worker has averaged, {} the first, are "
                               "frozen according to {}: say "
                               "paceline.worker(model, frozen=\"whole\"), or begin the job anew",
                               averaged.size(), averaged.front(), WhoseFrozen(job))};
  }
  const std::vector<std::string> thawed = protocol::Held(join.layout, *job.layout, frozen);
  if (!thawed.empty()) {
    return Refused{RefuseReason::kLayoutDiffers,
                   fmt::format("{} parameters that this worker trains, {} the first, are frozen "
                               "according to {}, which lacks them: keep them frozen, or begin "
                               "another job from the model's file",
                               thawed.size(), thawed.front(), WhoseFrozen(job))};
  }
  return Refused{RefuseReason::kLayoutDiffers,
                 join.layout.Difference(*job.layout) + OfCheckpoint(job)};
}

// What is wrong with the newcomer itself, whoever sits on its seat.
std::optional<Refused> Judge(const JobState& job, const Join& join,
                             const std::optional<WorkerId>& worker) {
  const bool is_worker = join.role == Role::kWorker;
  const bool is_over = is_worker ? job.phase >= Phase::kFinishing : job.phase == Phase::kOver;
  if (is_over) return Refused{RefuseReason::kFinished, "the job is finishing"};
  if (!worker) {
    return Refused{RefuseReason::kUnknownWorker,
                   join.group.empty()
                       ? fmt::format("worker index is {}, want less than maxReplicas {}",
                                     join.worker.value(), job.options.workers_max)
                       : fmt::format("{} is one worker too many: this job has had {}",
                                     ToString(SeatOf(join)), job.options.workers_max)};
  }
  if (const std::string why = WhyQuarantined(job, join, *worker); !why.empty())
    return Refused{RefuseReason::kExpelled, why};
  // An evaluator reads each bit.
  const std::string network = NetworkDifference(join.wire_types, job.options.wire_types);
  if (is_worker && !network.empty()) return Refused{RefuseReason::kNetworkDiffers, network};
  if (is_worker && join.layout.parameter_bytes() == 0) {
    return Refused{RefuseReason::kLayoutDiffers, "the model has no parameters"};
  }
  if (job.layout.has_value() && join.layout.hash() != job.layout->hash()) {
    return LayoutRefusal(job, join);
  }
  if (job.frozen.has_value()) {
    const std::string difference =
        protocol::FrozenDifference(join.frozen, *job.frozen, WhoseFrozen(job));
    if (!difference.empty()) return Refused{RefuseReason::kLayoutDiffers, difference};
  }
  if (is_worker && join.train_samples == 0) {
    return Refused{RefuseReason::kDataDiffers, "the training set has no samples"};
  }
  if (is_worker && job.layout.has_value() && join.train_samples != job.train_samples) {
    return Refused{RefuseReason::kDataDiffers,
                   fmt::format("the training set has {} samples, want {}{}", join.train_samples,
                               job.train_samples, OfCheckpoint(job))};
  }
  if (const std::string other = is_worker ? OtherSampler(job, join) : ""; !other.empty())
    return Refused{RefuseReason::kDataDiffers, other};
  return std::nullopt;
}

// Whoever starts processes has given up the one that sits there: it may live on, as what a script
// left behind or on a machine that nobody reaches.
bool IsOrderedInPlaceOf(const Join& join, const Session& old) {
  return join.attempt && old.attempt && *join.attempt > *old.attempt;
}

// The first worker's layout and data are the job's.
void Adopt(JobState& job, const Join& join) {
  job.layout = join.layout;
  job.train_samples = join.train_samples;
  CompleteSchedule(job.options, join.train_samples);
  job.leases.emplace(
      LeaseLedger::Options{join.train_samples, job.options.epochs_max, job.options.seed});
}

// One that came before the first worker may have another model.
void JudgeEvaluator(Turn turn, const Join& of_worker) {
  JobState& job = turn.job;
  const Session* evaluator = job.membership.evaluator();
  if (evaluator == nullptr || !job.evaluation.evaluator_layout.has_value()) return;
  std::string difference = job.evaluation.evaluator_layout->Difference(of_worker.layout);
  if (difference.empty()) {
    difference = protocol::FrozenDifference(job.evaluation.evaluator_frozen, of_worker.frozen,
                                            WhoseFrozen(job));
  }
  if (difference.empty()) return;
  Lose(turn, Loss{evaluator->connection, sync::LeaveReason::kExpelled, WorkerEventKind::kRefused,
                  difference, Refused{RefuseReason::kLayoutDiffers, difference}, true});
}

}  // namespace

void OnJoin(Turn turn, ConnectionId connection, const Join& join) {
  JobState& job = turn.job;
  if (job.membership.Find(connection) != nullptr) {
    return Expel(turn, connection, "a second Join in one session");
  }
  // It is not over: whoever is told nothing tries again, and finds the coordinator's next life.
  if (job.finishing.is_suspending) {
    turn.effects.push_back(CloseWorker{connection});
    return;
  }
  const bool is_worker = join.role == Role::kWorker;
  const std::optional<WorkerId> number =
      is_worker ? job.seats.Give(SeatOf(join), job.options.workers_max) : WorkerId();
  const WorkerId worker = number.value_or(join.worker);
  if (const std::optional<Refused> refused = Judge(job, join, number))
    return Refuse(turn, connection, join, worker, *refused);
  if (const Session* old =
          is_worker ? job.membership.FindWorker(worker) : job.membership.evaluator()) {
    if (IsOrderedInPlaceOf(join, *old)) {
      const std::string why =
          fmt::format("start {} of it took the place of start {}", *join.attempt, *old->attempt);
      Lose(turn, Loss{old->connection, sync::LeaveReason::kSilent, WorkerEventKind::kLeft, why,
                      protocol::Expelled{why}, true});
    } else if (job.membership.IsQuiet(*old, turn.now)) {
      Lose(turn, Loss{old->connection, sync::LeaveReason::kSilent, WorkerEventKind::kSilent,
                      "silent, and a new process took its place", std::nullopt, true});
    } else {
      const std::string who = is_worker ? ToString(SeatOf(join)) : "an evaluator";
      return Refuse(turn, connection, join, worker,
                    {RefuseReason::kAlreadyJoined, who + " has joined already and is alive"});
    }
  }
  const Session session =
      job.membership.Admit(connection, join.role, worker, turn.now, join.attempt);
  // Before the worker knows: what it sends first may still overtake this, and is sent again.
  if (is_worker && job.startup.is_configuring) AdmitToShards(turn, session);
  protocol::Admitted admitted{session.incarnation, job.options.generation,
                              job.options.heartbeat_period, job.options.seed};
  admitted.compares_draws = admitted.compares_frozen = true;
  if (is_worker && !join.group.empty()) admitted.worker = worker;
  turn.Send(connection, admitted);
  if (job.startup.has_announced) turn.Send(connection, protocol::Shards{});
  if (!is_worker) {
    job.evaluation.evaluator_layout = join.layout;
    job.evaluation.evaluator_frozen = join.frozen;
    return;
  }
  job.ended.erase(worker);
  turn.effects.push_back(
      WorkerEvent{WorkerEventKind::kJoined, worker, session.incarnation, "", SeatOf(join)});
  job.recovery.quarantines.erase(worker);
  job.pushes.Begin(worker, session.incarnation);
  WorkerStatus& status = job.workers[worker];
  status.worker = worker;
  status.incarnation = session.incarnation;
  status.device = join.device;
  status.threads = join.threads;
  if (!job.layout.has_value()) Adopt(job, join);
  if (!job.frozen.has_value()) {  // A checkpoint may know the layout, and nothing of these.
    job.frozen = join.frozen;
    JudgeEvaluator(turn, join);
  }
  AdoptSampler(job, join);
  if (job.phase == Phase::kTraining) {
    job.participants.insert(worker);
    Ask(turn, sync::WorkerJoined{worker});
  }
}

void AdmitToShards(Turn turn, const Session& session) {
  const protocol::Seat seat = turn.job.seats.SeatOf(session.worker);
  turn.Order(protocol::Admit{session.worker, session.incarnation,
                             seat.group.empty() ? protocol::Seat() : seat});
}

void Remove(Turn turn, const Loss& loss) {
  JobState& job = turn.job;
  const std::optional<Session> session = job.membership.Remove(loss.connection);
  if (!session.has_value()) return;
  if (loss.is_open) {
    if (loss.farewell.has_value()) turn.Send(loss.connection, *loss.farewell);
    turn.effects.push_back(CloseWorker{loss.connection});
  }
  if (session->role == Role::kEvaluator) {
    return OnEvaluatorLost(turn, loss.detail, loss.kind == WorkerEventKind::kHung);
  }
  const WorkerId worker = session->worker;
  turn.effects.push_back(
      WorkerEvent{loss.kind, worker, session->incarnation, loss.detail, job.seats.SeatOf(worker)});
  if (loss.reason == sync::LeaveReason::kExpelled) {
    ++job.recovery.expulsions[worker];
    job.recovery.quarantines[worker] = {session->attempt, loss.detail,
                                        loss.kind == WorkerEventKind::kHung, turn.now};
  }
  job.workers[worker].doing = protocol::Doing::kWaiting;
  job.workers[worker].in_script_since.reset();
  if (loss.kind == WorkerEventKind::kHung) {
    AccuseStepOf(job, worker, EndOfProcess::kHung);
  } else if (loss.reason == sync::LeaveReason::kDisconnected) {
    AccuseStepOf(job, worker, EndOfProcess::kEnded);
  }
  job.health.erase(worker);
  job.step_counts.erase(worker);
  job.workers[worker].dropped += job.pushes.Fence(worker).size();
  if (job.leases.has_value()) job.leases->ReturnAllOf(worker);
  job.starved.Forget(worker);
  job.starved.MayFind();  // What was meant for it may be for others.
  job.commits.Forget(worker);
  job.change.draining.erase(worker);
  if (job.startup.filler == loss.connection) job.startup.filler.reset();
  if (job.startup.has_announced) turn.Order(protocol::Fence{worker, session->incarnation});
  // A late worker's samples came back: only one that joined can leave.
  if (job.change.outstanding.contains(worker)) WelcomeLate(turn, worker);
  if (job.participants.erase(worker) > 0) Ask(turn, sync::WorkerLeft{worker, loss.reason});
}

void LoseSilent(Turn turn) {
  for (const Session& session : turn.job.membership.Silent(turn.now)) {
    Lose(turn, Loss{session.connection, sync::LeaveReason::kSilent, WorkerEventKind::kSilent,
                    fmt::format("no word for {:g} s", ToSeconds(turn.now - session.heard)),
                    std::nullopt, true});
  }
}

}  // namespace paceline::coordination
