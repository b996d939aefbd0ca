#include "lib/coordination/phases/changing.h"

#include <algorithm>
#include <utility>

#include "lib/coordination/phases/asking.h"
#include "lib/coordination/phases/evaluating.h"
#include "lib/coordination/phases/finishing.h"
#include "lib/coordination/phases/joining.h"
#include "lib/coordination/phases/poisoning.h"
#include "lib/coordination/phases/training.h"

namespace paceline::coordination {

namespace {

void SendAway(Turn turn, ConnectionId connection) {
  Lose(turn, Loss{connection, sync::LeaveReason::kDrained, WorkerEventKind::kLeft, "drained",
                  protocol::Finish{"drained"}, true});
}

void GiveBack(Turn turn, const Push& push) {
  JobState& job = turn.job;
  for (const protocol::LeaseId lease : push.leases) job.leases->Return(lease);
  ++job.workers[push.id.worker].dropped;
  turn.Order(protocol::DropOrder{push.id});
}

// True when nothing of the old policy is left that could still change a version.
bool IsQuiet(Turn turn) {
  JobState& job = turn.job;
  if (job.is_asking || !job.later.empty()) return false;
  if (!job.commits.is_idle()) return false;  // Shards answer, or are lost.
  if (job.pushes.is_idle()) return true;
  if (turn.now < *job.change.quiesced) return false;
  for (const Push& push : job.pushes.staged()) {
    job.pushes.Drop(push.id.worker, push.id.sequence);
    GiveBack(turn, push);
  }
  if (job.pushes.is_idle()) return true;
  Fail(turn, "the policy did not commit what it had accumulated before its end");
  return false;
}

// To a push that no policy answers any more, so that what the worker has made since can be pushed,
// and dropped, too.
void AnswerLate(Turn turn, const Session& session) {
  const JobState& job = turn.job;
  if (!IsEager(job, session.worker) || !OwesPush(job, session.worker)) return;
  Answer(turn, session,
         {.worker = session.worker,
          .version = job.commits.published(),
          .exactness = sync::Exactness::kAtLeast,
          .includes = job.pushes.Newest(session.worker),
          .assignment = {.samples = 1, .pacing = sync::Pacing::kEagerPull}});
}

void SetCourse(JobState& job, const Course& course) {
  job.options.epochs_max = course.epochs_max;
  job.options.steps_max = course.steps_max;
  job.options.schedule = course.schedule;
  if (!job.leases.has_value()) return;  // The first worker's training set completes it.
  CompleteSchedule(job.options, job.train_samples);
  job.leases->SetEpochsMax(course.epochs_max);
}

void SetEvaluations(Turn turn, const Evaluations& evaluations) {
  JobState& job = turn.job;
  job.options.evaluation_period = evaluations.period;
  job.options.judging.least_gain = evaluations.least_gain;
  if (job.options.judging.measure == evaluations.measure) return;
  job.options.judging.measure = evaluations.measure;
  job.recovery.measure_unknown.clear();
  job.evaluation.judged = Judged{.cuts = job.evaluation.judged.cuts};
  if (job.evaluation.kept.has_value()) turn.Order(protocol::Unpin{job.evaluation.kept->version});
  job.evaluation.kept.reset();
}

// Where a version is on its way, training stops with that one (publishing.cc).
void StopIfNothingIsDone(Turn turn) {
  const JobState& job = turn.job;
  if (job.phase != Phase::kTraining || IsBusy(job)) return;
  if (const std::optional<std::string> stop = StopReason(job)) BeginFinishing(turn, *stop);
}

}  // namespace

bool OwesPush(const JobState& job, WorkerId worker) {
  return job.leases.has_value() && job.leases->HoldsAny(worker, [&](protocol::LeaseId lease) {
    return !job.pushes.Uses(worker, lease);
  });
}

bool IsBusy(const JobState& job) {
  const std::vector<Session> workers = job.membership.workers();
  return !job.pushes.is_idle() || !job.commits.is_idle() ||
         std::any_of(workers.begin(), workers.end(),
                     [&](const Session& session) { return OwesPush(job, session.worker); });
}

void OnSpecChanged(Turn turn, const SpecChanged& changed) {
  JobState& job = turn.job;
  if (changed.evaluations.has_value()) SetEvaluations(turn, *changed.evaluations);
  if (changed.hang.has_value()) job.options.hang = *changed.hang;
  if (changed.course.has_value()) {
    SetCourse(job, *changed.course);
    StopIfNothingIsDone(turn);
  }
  job.options.workers_wanted = changed.workers_wanted;
  job.options.workers_min = changed.workers_min;
  job.options.groups = changed.groups;
  job.seats.GiveAll(job.options.groups, job.options.workers_max);
  if (changed.evaluator_gone.has_value()) OnEvaluatorGone(turn, *changed.evaluator_gone);
  // Before training opens the policy is not made yet; at its end none is needed any more. A change
  // that is under way makes the newest one.
  if (job.phase != Phase::kTraining || job.change.quiesced.has_value()) return;
  if (changed.reconfigured.has_value()) Ask(turn, sync::Reconfigured{*changed.reconfigured});
  if (!changed.is_policy_changed) return;
  // The policy is given a little less than we wait, so that its own deadline comes first.
  const Time deadline = turn.now + job.options.quiesce_timeout;
  job.change.quiesced = deadline + job.options.heartbeat_period;
  Ask(turn, sync::Quiesce{sync::QuiesceReason::kSchemeChange, deadline});
}

void OnDrainAsked(Turn turn, const DrainAsked& asked) {
  JobState& job = turn.job;
  if (job.phase >= Phase::kFinishing) return;  // Everybody is sent home already.
  for (const protocol::Seat& seat : asked.workers) {
    const std::optional<WorkerId> worker = job.seats.Find(seat);
    const Session* const session = worker ? job.membership.FindWorker(*worker) : nullptr;
    if (session == nullptr || !job.change.draining.insert(*worker).second) continue;
    if (!OwesPush(job, *worker)) SendAway(turn, session->connection);
  }
}

void AdvanceChange(Turn turn) {
  JobState& job = turn.job;
  ChangeState& change = job.change;
  if (!change.quiesced.has_value() || !IsQuiet(turn)) return;
  change.quiesced.reset();
  job.participants.clear();
  job.starved = {};
  std::vector<WorkerId> ready;
  for (const Session& session : job.membership.workers()) {
    if (OwesPush(job, session.worker)) {
      change.outstanding.insert(session.worker);
      AnswerLate(turn, session);
    } else {
      ready.push_back(session.worker);
    }
  }
  turn.effects.push_back(
      PolicyChanged{job.commits.published(), static_cast<uint32_t>(ready.size())});
  job.participants.insert(ready.begin(), ready.end());
  for (const WorkerId worker : ready) Ask(turn, sync::WorkerJoined{worker});
}

std::optional<Time> ChangeDeadline(const JobState& job) {
  return job.pushes.is_idle() ? std::nullopt : job.change.quiesced;
}

void DropLate(Turn turn, const Session& session, Sequence sequence) {
  if (const std::optional<Push> push = turn.job.pushes.Drop(session.worker, sequence))
    GiveBack(turn, *push);
  // One that works ahead holds more: the rest comes too, before it stops for want of samples.
  if (OwesPush(turn.job, session.worker)) return AnswerLate(turn, session);
  WelcomeLate(turn, session.worker);
}

void WelcomeLate(Turn turn, WorkerId worker) {
  JobState& job = turn.job;
  job.change.outstanding.erase(worker);
  if (job.phase != Phase::kTraining) return;
  job.participants.insert(worker);
  Ask(turn, sync::WorkerJoined{worker});
}

void LetGo(Turn turn, const Session& session) {
  if (turn.job.change.draining.contains(session.worker)) SendAway(turn, session.connection);
}

}  // namespace paceline::coordination
