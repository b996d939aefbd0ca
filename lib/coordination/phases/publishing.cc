#include "lib/coordination/phases/publishing.h"

#include <cmath>

#include "lib/coordination/phases/asking.h"
#include "lib/coordination/phases/changing.h"
#include "lib/coordination/phases/evaluating.h"
#include "lib/coordination/phases/finishing.h"
#include "lib/coordination/phases/recovering.h"
#include "lib/coordination/phases/starving.h"
#include "lib/coordination/phases/training.h"

namespace paceline::coordination {

namespace {

// The version's samples are committed; what its pushes say of loss and accuracy.
void CommitSamples(JobState& job, Version version) {
  uint64_t samples = 0, counted = 0, correct = 0;
  double loss = 0;
  // What is suspected is for this one or that, by what each has pushed.
  if (job.leases->IsAnySuspected()) job.starved.MayFind();
  for (const Push& push : job.pushes.Publish(version)) {
    for (const auto& [lease, skipped] : SkippedOf(*job.leases, push))
      job.leases->Commit(lease, skipped);
    job.workers[push.id.worker].samples_committed += push.samples;
    samples += push.samples;
    counted += push.counted();
    correct += push.correct;
    loss += push.loss * push.counted();
  }
  if (samples == 0) return;
  job.committed_samples += samples;
  if (counted == 0) return;
  job.figures = {loss / static_cast<double>(counted),
                 static_cast<double>(correct) / static_cast<double>(counted)};
}

// To those who are busy still. Who has pushed meanwhile has its answer: a hint is of no use to it.
std::vector<sync::Offer> TakeOffersToTheBusy(JobState& job) {
  std::vector<sync::Offer> offers = job.commits.TakeOffers();
  std::erase_if(offers, [&job](const sync::Offer& offer) { return !OwesPush(job, offer.worker); });
  return offers;
}

void Publish(Turn turn, const CommitProgress::Published& published) {
  JobState& job = turn.job;
  if (!std::isfinite(published.squared_norm)) {
    // Each push was finite and their sum is not, which no policy sees.
    return RollBackNonFinite(
        turn, fmt::format("the sum of gradients is not finite at version {}", published.version));
  }
  CommitSamples(job, published.version);
  job.checkpointing.cost.Published(turn.now);
  const std::optional<std::string> stop = StopReason(job);
  // Releases first, since workers wait for them; those without samples are told to the policy after
  // the commit.
  std::vector<WorkerId> out_of_data;
  const std::vector<sync::Offer> offers = TakeOffersToTheBusy(job);
  for (const sync::Release& release : job.commits.TakeReleases()) {
    if (stop.has_value() || job.phase != Phase::kTraining ||
        !job.participants.contains(release.worker) || job.change.quiesced.has_value())
      continue;
    if (!Send(turn, release)) out_of_data.push_back(release.worker);
  }
  for (const sync::Offer& offer : offers) {
    if (stop.has_value() || job.phase != Phase::kTraining) break;
    if (const Session* session = job.membership.FindWorker(offer.worker))
      turn.Send(session->connection, protocol::Offered{offer.version});
  }
  turn.effects.push_back(VersionPublished{published.version, job.committed_samples,
                                          job.figures.loss, published.learning_rate,
                                          job.leases->skipped()});
  for (const uint64_t epoch : job.leases->TakeCompleted()) {
    turn.effects.push_back(EpochCompleted{epoch});
    if (job.leases->IsAllSkipped(epoch))
      return FailWithoutSteps(turn, fmt::format("epoch {}", epoch));
  }
  OnPublishedForEvaluation(turn, published.version);
  Ask(turn, sync::StepCommitted{published.version, published.learning_rate, published.squared_norm,
                                published.clip_scale});
  if (stop.has_value()) return BeginFinishing(turn, *stop);
  for (const WorkerId worker : out_of_data) TellOutOfData(turn, worker);
}

}  // namespace

void OnSummed(Turn turn, ShardId shard, const protocol::Summed& summed) {
  CommitProgress::Orders out;
  const paceline::Status status = turn.job.commits.Summed(shard, summed, out);
  if (!status.ok()) return RollBackNonFinite(turn, Message(status));
  turn.SendShards(out);
}

void OnPrepared(Turn turn, ShardId shard, const protocol::Prepared& prepared) {
  CommitProgress::Orders out;
  const paceline::Status status = turn.job.commits.Prepared(shard, prepared, out);
  if (!status.ok()) return RollBackNonFinite(turn, Message(status));
  turn.SendShards(out);
}

void OnCommitted(Turn turn, ShardId shard, const protocol::Committed& committed) {
  for (const CommitProgress::Published& published : turn.job.commits.Committed(shard, committed)) {
    if (turn.job.phase == Phase::kOver || turn.job.phase == Phase::kStartup) return;
    Publish(turn, published);
  }
}

}  // namespace paceline::coordination
