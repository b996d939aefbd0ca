#include "lib/coordination/phases/poisoning.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "lib/coordination/phases/training.h"

namespace paceline::coordination {

namespace {

// In a row: as many as a range has parts. A worker that is ill itself is not excused for ever.
constexpr uint32_t kExcusesMax = 16;

// What a worker's word is worth when its push on that version is not finite: was it well right
// before, and the model?
Suspects::Word WordOf(const Health& health, Version based_on) {
  if (health.ill_in_a_row > 0 || !health.finite_on.has_value()) return Suspects::Word::kNotYet;
  const bool is_model_well = *health.finite_on >= based_on;
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
    health.spoilt -= std::min(health.spoilt, done.leases.size());
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
      pacing->second != sync::Pacing::kEagerPull) {
    health.is_copy_ill = true;
    health.spoilt = Unpushed(job, worker).size();
  }
  return !suspected.empty() && ill_before < kExcusesMax;
}

void NoteBase(JobState& job, WorkerId worker, Base base) {
  Health& health = job.health[worker];
  if (base == Base::kPulled) {
    health.is_copy_ill = false;
  } else if (health.is_copy_ill) {
    ++health.spoilt;
  }
}

std::vector<protocol::LeaseId> Unpushed(const JobState& job, WorkerId worker) {
  std::vector<protocol::LeaseId> steps = job.leases->Held(worker);
  std::erase_if(steps, [&](protocol::LeaseId lease) { return job.pushes.Uses(worker, lease); });
  return steps;
}

void AccuseStepOf(JobState& job, WorkerId worker, EndOfProcess end) {
  if (!job.leases.has_value()) return;
  const std::vector<protocol::LeaseId> steps = Unpushed(job, worker);
  const StepCount& count = job.step_counts[worker];
  // Those before are computed, and wait to be pushed.
  const uint64_t first = count.computed - std::min(count.told, count.computed);
  const uint64_t end_at = end == EndOfProcess::kHung ? first + 1 : steps.size();
  for (uint64_t at = first; at < std::min<uint64_t>(end_at, steps.size()); ++at)
    job.leases->Accuse(steps[at], worker, Suspects::Word::kCounts);
}

bool IsScriptsFault(JobState& job, WorkerId worker, const protocol::Failing& failing) {
  if (failing.cause.empty() || !job.leases.has_value()) return false;
  const std::vector<protocol::LeaseId> steps = Unpushed(job, worker);
  const bool is_fresh = !steps.empty() && std::ranges::none_of(steps, [&](protocol::LeaseId lease) {
    return job.leases->IsSuspect(lease);
  });
  if (!is_fresh) return false;
  // In another epoch the same sample stands elsewhere.
  const uint64_t epoch = job.leases->FirstEpoch(steps.front());
  std::map<std::string, uint64_t>& failures = job.recovery.early_failures;
  const auto before = failures.find(failing.cause);
  if (before != failures.end() && before->second == epoch) return true;
  failures[failing.cause] = epoch;
  return false;
}

void TellPoisoned(Turn turn) {
  JobState& job = turn.job;
  // What was found with the last word, or came back and was known, may have been all that training
  // waited for.
  const bool is_time = job.phase == Phase::kTraining || job.phase == Phase::kFinishing;
  if (!is_time || !job.leases->IsAnySuspected()) return;
  const std::vector<PoisonedSample> poisoned = job.leases->TakePoisoned();
  for (const PoisonedSample& sample : poisoned) {
    job.recovery.poisoned.push_back(sample);
    turn.effects.push_back(SamplePoisoned{sample});
  }
  FinishIfAllElseIsLeftOut(turn);
}

}  // namespace paceline::coordination
