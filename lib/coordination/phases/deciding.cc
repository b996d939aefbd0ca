// The policy's decisions, carried out.
#include <algorithm>
#include <span>

#include "lib/coordination/phases/asking.h"
#include "lib/coordination/phases/changing.h"
#include "lib/coordination/phases/checkpointing.h"
#include "lib/coordination/phases/evaluating.h"
#include "lib/coordination/phases/finishing.h"
#include "lib/coordination/phases/poisoning.h"
#include "lib/coordination/phases/recovering.h"
#include "lib/coordination/phases/starving.h"
#include "lib/coordination/phases/training.h"
#include "lib/optim/schedule.h"

namespace paceline::coordination {

namespace {

using Later = std::span<const sync::Decision>;  // What the policy decided with this one, after it.

// A commit that follows at once names the push too, and a shard then adds what it lacks: one
// message less on the way to the release. Not where the sum is asked for before the commit.
bool IsCommittedAtOnce(const JobState& job, Later later) {
  return !job.options.gradient_clip_norm.has_value() && !job.options.is_layer_wise &&
         std::any_of(later.begin(), later.end(), [](const sync::Decision& decision) {
           return std::holds_alternative<sync::Commit>(decision);
         });
}

// ", first in conv1.weight"; empty where it is not known.
std::string FirstIn(const std::string& tensor) {
  return tensor.empty() ? "" : ", first in " + tensor;
}

// Who else may try, and what the worker holds, matters for suspects alone; to name them for each
// release would make a commit cost the square of the workers.
std::optional<protocol::Lease> Grant(JobState& job, WorkerId worker, uint32_t samples) {
  const bool leaves = LeavesOvertaken(job, worker);
  auto lease =
      job.leases->IsAnySuspected()
          ? job.leases->Grant(worker, samples, {job.participants.begin(), job.participants.end()},
                              Unpushed(job, worker), leaves)
          : job.leases->Grant(worker, samples, {}, {}, leaves);
  if (lease.has_value()) job.starved.FoundSome(worker);
  return lease;
}

double RateNow(const JobState& job) {
  const double rate = optim::LearningRate(job.options.schedule, job.decided_samples);
  return job.evaluation.judged.Cut(job.options.judging.plateau, rate) *
         job.recovery.damping.learning_rate_scale;
}

// Shards forget what their optimizers have learnt at a commit of deltas, workers when they are
// released to push gradients.
void NoteKind(Turn turn, PushKind kind, Version version) {
  std::optional<PushKind>& last = turn.job.last_kind;
  if (last.has_value() && *last != kind) turn.effects.push_back(OptimizerReset{version, kind});
  last = kind;
}

void Carry(Turn turn, const sync::Accumulate& decision, Later later) {
  JobState& job = turn.job;
  const auto pacing = job.pacings.find(decision.worker);
  const PushKind kind =
      pacing == job.pacings.end() ? PushKind::kGradient : sync::PushKindOf(pacing->second);
  const Push* push =
      job.pushes.Accumulate(decision.worker, decision.sequence, decision.weight, kind);
  if (push == nullptr) return;
  for (const protocol::LeaseId lease : push->leases) job.leases->Accumulate(lease);
  WorkerStatus& status = job.workers[decision.worker];
  ++status.accepted;
  status.staleness = job.commits.published().value() - push->based_on.value();
  if (!IsCommittedAtOnce(job, later)) turn.Order(protocol::AccumulateOrder{push->id, push->weight});
}

void Carry(Turn turn, const sync::Drop& decision, Later) {
  JobState& job = turn.job;
  const std::optional<Push> push = job.pushes.Drop(decision.worker, decision.sequence);
  if (!push.has_value()) return;
  // The policy's choice to do without a push is what onDrop is about; what is lost by accident
  // always goes back.
  const bool is_overtaken = decision.reason == sync::DropReason::kSuperseded ||
                            decision.reason == sync::DropReason::kTooStale;
  const bool is_choice = is_overtaken || decision.reason == sync::DropReason::kNonFinite;
  const bool is_left_out = is_choice && job.options.on_drop == OnDrop::kDiscard;
  for (const protocol::LeaseId lease : push->leases) {
    if (is_overtaken) job.leases->Overtake(lease);
    is_left_out ? job.leases->Discard(lease) : job.leases->Return(lease);
  }
  ++job.workers[decision.worker].dropped;
  if (decision.reason == sync::DropReason::kNonFinite) {
    ++job.nonfinite_pushes;
    job.nonfinite_workers.insert(decision.worker);
    if (job.nonfinite_tensor.empty()) job.nonfinite_tensor = push->non_finite_tensor;
    turn.effects.push_back(
        WorkerEvent{WorkerEventKind::kNonFinite, decision.worker, push->id.incarnation,
                    fmt::format("push {} on {} is not finite, loss {:g}{}", decision.sequence,
                                push->based_on, push->loss, FirstIn(push->non_finite_tensor)),
                    job.seats.SeatOf(decision.worker)});
  }
  turn.Order(protocol::DropOrder{push->id});
}

void Carry(Turn turn, const sync::Commit& decision, Later) {
  JobState& job = turn.job;
  if (job.pushes.open_sum().empty()) return;
  const Version version = job.commits.decided().Next();
  protocol::CommitAll order;
  uint64_t samples = 0;
  const std::vector<Push>& pushes = job.pushes.Close(version);
  for (const Push& push : pushes) {
    order.pushes.push_back({push.id, push.weight});
    samples += push.samples;
  }
  order.commit.without_gradient = WithoutGradient(pushes);
  order.commit.version = version;
  order.commit.gradient_scale = decision.gradient_scale * ScaleForSkipped(pushes);
  order.commit.learning_rate = RateNow(job) * decision.learning_rate_scale;
  order.commit.kind = decision.kind;
  order.commit.outer = decision.outer;
  NoteKind(turn, decision.kind, version);
  order.commit.is_pinned = TakePin(turn, version);
  job.decided_samples += samples;
  job.nonfinite_workers.clear();
  job.nonfinite_tensor.clear();
  CommitProgress::Orders out;
  job.commits.Commit(std::move(order), out);
  turn.SendShards(out);
  if (IsCheckpointDue(turn)) StartCheckpoint(turn);
}

void Carry(Turn turn, const sync::Release& decision, Later) {
  JobState& job = turn.job;
  // What the policy decided before it was quiesced, it would have to decide again.
  if (job.phase != Phase::kTraining || !job.participants.contains(decision.worker) ||
      job.change.quiesced.has_value())
    return;
  if (decision.version > job.commits.published()) return job.commits.Hold(decision);
  if (!Send(turn, decision)) TellOutOfData(turn, decision.worker);
}

void Carry(Turn turn, const sync::Offer& decision, Later) {
  const Session* session = turn.job.membership.FindWorker(decision.worker);
  if (session == nullptr) return;
  if (decision.version > turn.job.commits.published()) return turn.job.commits.Hold(decision);
  turn.Send(session->connection, protocol::Offered{decision.version});
}

void Carry(Turn turn, const sync::Continue& decision, Later) {
  JobState& job = turn.job;
  const Session* session = job.membership.FindWorker(decision.worker);
  if (session == nullptr || job.phase != Phase::kTraining ||
      !job.participants.contains(decision.worker) || job.change.quiesced.has_value() ||
      job.change.draining.contains(decision.worker))
    return;
  const auto lease = Grant(job, decision.worker, decision.assignment.samples);
  if (!lease.has_value()) return TellOutOfData(turn, decision.worker);
  NoteBase(job, decision.worker, Base::kOwnCopy);
  job.pacings[decision.worker] = decision.assignment.pacing;
  job.workers[decision.worker].batch_size = decision.assignment.samples;
  turn.Send(session->connection, protocol::Continued{decision.assignment, *lease, RateNow(job)});
}

void Carry(Turn turn, const sync::Interrupt& decision, Later) {
  const Session* session = turn.job.membership.FindWorker(decision.worker);
  if (session == nullptr) return;
  // By its number: the push may be on its way, and the step after it must not be the one to end.
  if (const std::optional<Sequence> running = turn.job.pushes.Running(decision.worker))
    turn.Send(session->connection, protocol::Interrupted{*running});
}

void Carry(Turn turn, const sync::Expel& decision, Later) {
  const Session* session = turn.job.membership.FindWorker(decision.worker);
  if (session == nullptr) return;
  Expel(turn, session->connection,
        decision.reason == sync::ExpelReason::kTooSlow
            ? "too slow"
            : "its gradients are not finite again and again");
}

void Carry(Turn turn, const sync::Chosen& decision, Later) {
  turn.effects.push_back(PolicyChose{decision, turn.job.commits.decided()});
}

void Carry(Turn turn, const sync::RollBack&, Later) {
  std::string names;
  for (const WorkerId worker : turn.job.nonfinite_workers)
    names += (names.empty() ? "" : ", ") + ToString(worker);
  RollBackNonFinite(
      turn, fmt::format("gradients are not finite{}{} at version {}{}", names.empty() ? "" : ": ",
                        names, turn.job.commits.decided(), FirstIn(turn.job.nonfinite_tensor)));
}

}  // namespace

void FinishIfAllElseIsLeftOut(Turn turn) {
  JobState& job = turn.job;
  if (job.phase != Phase::kTraining || !job.leases->is_complete() || IsBusy(job)) return;
  for (const uint64_t epoch : job.leases->TakeCompleted())
    turn.effects.push_back(EpochCompleted{epoch});
  BeginFinishing(turn, *StopReason(job));
}

bool IsEager(const JobState& job, WorkerId worker) {
  const auto pacing = job.pacings.find(worker);
  return pacing != job.pacings.end() && pacing->second == sync::Pacing::kEagerPull;
}

void Answer(Turn turn, const Session& session, const sync::Release& release) {
  turn.Send(session.connection,
            protocol::Released{release.version, release.exactness, release.includes,
                               release.assignment, protocol::Lease{}, RateNow(turn.job)});
}

bool Send(Turn turn, const sync::Release& release) {
  JobState& job = turn.job;
  const Session* session = job.membership.FindWorker(release.worker);
  if (session == nullptr) return true;
  job.pacings[release.worker] = release.assignment.pacing;
  // One that is on its way out gets no more work; the policy hears of its leaving soon.
  const bool is_leaving = job.change.draining.contains(release.worker);
  std::optional<protocol::Lease> lease;
  if (!is_leaving) lease = Grant(job, release.worker, release.assignment.samples);
  if (!lease.has_value()) {
    // It has a step to push, and waits for the answer to the push before.
    if (IsEager(job, release.worker) && OwesPush(job, release.worker))
      Answer(turn, *session, release);
    return is_leaving;
  }
  NoteBase(job, release.worker, Base::kPulled);
  job.workers[release.worker].batch_size = release.assignment.samples;
  turn.Send(session->connection,
            protocol::Released{release.version, release.exactness, release.includes,
                               release.assignment, *lease, RateNow(job)});
  return true;
}

void Carry(Turn turn, const std::vector<sync::Decision>& decisions) {
  const Later all(decisions);
  for (size_t i = 0; i < all.size(); ++i) {
    // Over, or rolled back: what was decided beyond that is void.
    if (turn.job.phase == Phase::kOver || turn.job.phase == Phase::kStartup) return;
    std::visit([&](const auto& d) { Carry(turn, d, all.subspan(i + 1)); }, all[i]);
  }
  FinishIfAllElseIsLeftOut(turn);
}

}  // namespace paceline::coordination
