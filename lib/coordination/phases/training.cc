#include "lib/coordination/phases/training.h"

#include <algorithm>

#include "lib/coordination/phases/asking.h"
#include "lib/coordination/phases/changing.h"
#include "lib/coordination/phases/hanging.h"
#include "lib/coordination/phases/poisoning.h"

namespace paceline::coordination {

using protocol::PushDone;
using protocol::Role;

namespace {

// What is wrong with the leases that a worker names; empty: nothing.
std::string JudgeLeases(const JobState& job, WorkerId worker,
                        const std::vector<protocol::LeaseId>& leases) {
  std::set<protocol::LeaseId> named;
  for (const protocol::LeaseId lease : leases) {
    if (!named.insert(lease).second) return fmt::format("lease {} named twice", lease);
    if (!job.leases->IsHeld(worker, lease))
      return fmt::format("lease {} is not held by {}", lease, worker);
    // A staged push keeps its leases until it is answered: they are used up.
    if (job.pushes.Uses(worker, lease))
      return fmt::format("lease {} is used up by an earlier push", lease);
  }
  return "";
}

// What is wrong with the parameters that a push says to have no gradient of; empty: nothing.
std::string JudgeWithoutGradient(const JobState& job, const std::vector<uint32_t>& named) {
  if (named.empty()) return "";
  const std::vector<store::TensorPlace>& tensors = job.layout->tensors();
  for (size_t i = 0; i < named.size(); ++i) {
    if (named[i] >= tensors.size() || tensors[named[i]].spec.kind != store::TensorKind::kParameter)
      return fmt::format("tensor {} without gradient is no parameter", named[i]);
    if (i > 0 && named[i] <= named[i - 1])
      return fmt::format("tensor {} without gradient is out of order", named[i]);
  }
  return "";
}

std::string JudgePush(const JobState& job, WorkerId worker, const PushDone& done) {
  if (std::string wrong = JudgeLeases(job, worker, done.leases); !wrong.empty()) return wrong;
  uint64_t leased = 0;
  for (const protocol::LeaseId lease : done.leases) leased += job.leases->size(lease);
  if (done.samples == 0 || done.samples != leased) {
    return fmt::format("push has {} samples, want the {} of its leases", done.samples, leased);
  }
  if (done.skipped > done.samples)
    return fmt::format("push skips {} samples of {}", done.skipped, done.samples);
  if (done.based_on > job.commits.decided())
    return fmt::format("push is based on unpublished {}", done.based_on);
  return JudgeWithoutGradient(job, done.without_gradient);
}

void Remember(WorkerStatus& status, const PushDone& done) {
  ++status.steps;
  if (done.skipped < done.samples) status.loss = done.gradient.loss;
  status.total.compute += done.timing.compute;
  status.total.wait += done.timing.wait;
  status.total.communication += done.timing.communication;
  status.total.injected += done.timing.injected;
  status.traffic.pushed_bytes += done.traffic.pushed_bytes;
  status.traffic.pulled_bytes += done.traffic.pulled_bytes;
  status.loss_scale = done.loss_scale;
}

// The worker of that connection, if the policy counts it in; else the sender is expelled.
const Session* TrainingWorker(Turn turn, ConnectionId connection, std::string_view said) {
  const Session* session = turn.job.membership.Find(connection);
  if (session != nullptr && session->role == Role::kWorker &&
      (turn.job.participants.contains(session->worker) ||
       turn.job.change.outstanding.contains(session->worker)))
    return session;
  Expel(turn, connection, fmt::format("{} before training", said));
  return nullptr;
}

}  // namespace

void OnPushDone(Turn turn, ConnectionId connection, const PushDone& done) {
  JobState& job = turn.job;
  const Session* session = TrainingWorker(turn, connection, "a push");
  if (session == nullptr) return;
  if (done.generation != job.options.generation) {
    return Expel(
        turn, connection,
        fmt::format("push of generation {}, want {}", done.generation, job.options.generation));
  }
  const store::PushId id{session->worker, session->incarnation, done.sequence};
  switch (job.pushes.Judge(id)) {
    case PushLedger::Arrival::kNew:
      break;
    case PushLedger::Arrival::kDuplicate:
      return;  // Answered by what the first one brings about.
    case PushLedger::Arrival::kFenced:
    case PushLedger::Arrival::kOutOfOrder:
      return Expel(turn, connection, fmt::format("push {} is out of order", done.sequence));
  }
  if (const std::string wrong = JudgePush(job, session->worker, done); !wrong.empty()) {
    return Expel(turn, connection, wrong);
  }
  Remember(job.workers[session->worker], done);
  LearnPace(job, session->worker, done);
  job.step_counts[session->worker].told += done.leases.size();
  // A worker can have pulled a version before the last shard's word of it is here. For the policy
  // there are only versions that it was told of.
  const Version based_on = std::min(done.based_on, job.commits.published());
  job.pushes.Arrive(Push{id, based_on, done.samples, done.correct, done.gradient.loss, done.leases,
                         0, 0, done.non_finite_tensor, done.without_gradient, done.skipped});
  if (job.change.outstanding.contains(session->worker)) {
    DropLate(turn, *session, done.sequence);
    return LetGo(turn, *session);
  }
  sync::GradientFacts gradient = done.gradient;
  sync::Timing timing = done.timing;
  // Nothing was computed: a policy learns nothing that the push before did not say.
  if (done.skipped == done.samples) {
    gradient.is_empty = true;
    gradient.loss = job.figures.loss;  // Always finite.
    timing.compute = {};
  }
  gradient.is_excused =
      !(gradient.is_empty && gradient.is_finite) && IsSamplesFault(turn, *session, done);
  Ask(turn, sync::PushArrived{session->worker, done.sequence, based_on, done.steps, done.samples,
                              timing, gradient, done.signals, done.spread});
  LetGo(turn, *session);
}

void OnAbandoned(Turn turn, ConnectionId connection, const protocol::Abandoned& abandoned) {
  JobState& job = turn.job;
  const Session* session = TrainingWorker(turn, connection, "an abandoned step");
  if (session == nullptr) return;
  if (const std::string wrong = JudgeLeases(job, session->worker, abandoned.leases);
      !wrong.empty()) {
    return Expel(turn, connection, wrong);
  }
  if (!job.pushes.Abandon({session->worker, session->incarnation, abandoned.sequence})) {
    return Expel(turn, connection,
                 fmt::format("abandoned step {} is out of order", abandoned.sequence));
  }
  if (abandoned.reason == sync::AbandonReason::kOverflow) {
    WorkerStatus& status = job.workers[session->worker];
    ++status.overflows;
    status.loss_scale = abandoned.loss_scale;
  }
  for (const protocol::LeaseId lease : abandoned.leases) {
    if (abandoned.reason == sync::AbandonReason::kInterrupted) job.leases->Overtake(lease);
    job.leases->Return(lease);
  }
  job.step_counts[session->worker].told += abandoned.leases.size();
  if (job.change.outstanding.contains(session->worker)) {
    if (!OwesPush(job, session->worker)) WelcomeLate(turn, session->worker);
    return LetGo(turn, *session);
  }
  Ask(turn, sync::StepAbandoned{session->worker, abandoned.sequence, abandoned.reason,
                                abandoned.samples_fit});
  LetGo(turn, *session);
}

}  // namespace paceline::coordination
