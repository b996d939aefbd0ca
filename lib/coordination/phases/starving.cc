#include "lib/coordination/phases/starving.h"

#include <utility>

#include "lib/coordination/phases/asking.h"

namespace paceline::coordination {
namespace {

void NoteReturns(JobState& job) {
  const uint64_t returns = job.leases->returns();
  if (std::exchange(job.returns_seen, returns) != returns) job.starved.MayFind();
}

}  // namespace

void TellOutOfData(Turn turn, WorkerId worker) {
  turn.job.starved.FoundNone(worker);
  Ask(turn, sync::OutOfData{worker});
}

void TellSamplesReturned(Turn turn) {
  JobState& job = turn.job;
  if (job.phase != Phase::kTraining || job.change.quiesced.has_value()) return;
  NoteReturns(job);
  if (job.is_asking || !job.later.empty()) return;
  const uint64_t samples = job.leases->available();
  if (samples > 0 && job.starved.TakeNews()) Ask(turn, sync::SamplesReturned{samples});
}

bool LeavesOvertaken(JobState& job, WorkerId worker) {
  if (!job.leases->IsLate(worker)) return false;
  NoteReturns(job);
  return job.starved.HasHope(
      [&](WorkerId other) { return other != worker && !job.leases->IsLate(other); });
}

}  // namespace paceline::coordination
