#include "lib/coordination/poisoning.h"

#include <vector>

#include "lib/coordination/training.h"

namespace paceline::coordination {

namespace {

// In a row: as many as a range has parts. A worker that is ill itself is not excused for ever.
constexpr uint32_t kExcusesMax = 16;

// What the worker computes, or will: leases that no push of it has used up, in the order in which
// they are computed.
std::vector<protocol::LeaseId> StepsOf(const JobState& job, WorkerId worker) {
  std::vector<protocol::LeaseId> steps = job.leases->Held(worker);
  std::erase_if(steps, [&](protocol::LeaseId lease) { return job.pushes.Uses(worker, lease); });
  return steps;
}

// What a worker's word is worth when its push on that version is not finite: was it well right
// before, and the model?
Suspects::Word WordOf(const Health& health, Version based_on) {
  if (health.ill_in_a_row > 0 || !health.finite_on.has_value()) return Suspects::Word::kNotYet;
  const bool is_model_well = health.finite_on->Next() >= based_on;
  return is_model_well ? Suspects::Word::kCounts : Suspects::Word::kUnlessModel;
}

}  // namespace

bool IsSamplesFault(Turn turn, const Session& session, const protocol::PushDone& done) {
  JobState& job = turn.job;
  const WorkerId worker = session.worker;
  Health& health = job.health[worker];
  if (done.gradient.is_finite) {
    job.leases->Believe(worker);
    health = {.finite_on = done.based_on};
    return false;
  }
  const Suspects::Word word = WordOf(health, done.based_on);
  const uint32_t ill_before = health.ill_in_a_row++;
  if (job.options.on_drop == OnDrop::kDiscard) return false;  // They are left out anyway.
  // Made from a copy that the push before had made ill: it says nothing of these samples, and the
  // worker has had its strike, if it was one.
  if (health.spoilt > 0) {
    --health.spoilt;
    return ill_before < kExcusesMax;
  }
  std::vector<protocol::LeaseId> suspected;
  for (const protocol::LeaseId lease : done.leases)
    if (job.leases->IsExcuse(lease, worker)) suspected.push_back(lease);
  for (const protocol::LeaseId lease : suspected.empty() ? done.leases : suspected)
    job.leases->Accuse(lease, worker, word);
  // With eager pulls what is ill never gets into the copy.
  const auto pacing = job.pacings.find(worker);
  if (pacing != job.pacings.end() && sync::PushKindOf(pacing->second) == PushKind::kDelta &&
      pacing->second != sync::Pacing::kEagerPull)
    health.spoilt = StepsOf(job, worker).size();
  return !suspected.empty() && ill_before < kExcusesMax;
}

void AccuseStepOf(JobState& job, WorkerId worker) {
  if (!job.leases.has_value()) return;
  const std::vector<protocol::LeaseId> steps = StepsOf(job, worker);
  if (!steps.empty()) job.leases->Accuse(steps.front(), worker, Suspects::Word::kCounts);
}

void TellPoisoned(Turn turn) {
  JobState& job = turn.job;
  // What was found with the last word may have been all that training waited for.
  const bool is_time = job.phase == Phase::kTraining || job.phase == Phase::kFinishing;
  if (!is_time || !job.leases->IsAnySuspected()) return;
  const std::vector<PoisonedSample> poisoned = job.leases->TakePoisoned();
  for (const PoisonedSample& sample : poisoned) {
    job.recovery.poisoned.push_back(sample);
    turn.effects.push_back(SamplePoisoned{sample});
  }
  if (!poisoned.empty()) FinishIfAllElseIsLeftOut(turn);
}

}  // namespace paceline::coordination
