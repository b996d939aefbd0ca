#include <algorithm>

#include <fmt/format.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {
namespace {

constexpr int64_t kGraceDoublingsMax = 10;  // Beyond any backoff_max.

// How long a process of so many starts before it is left alone, whatever is said of it.
Duration Grace(const Draft& draft, int64_t starts) {
  const int64_t doublings = std::clamp<int64_t>(starts, 0, kGraceDoublingsMax);
  return std::min(draft.options.shard_comes_within * (int64_t{1} << doublings),
                  draft.options.backoff_max);
}

// The very process that was lost holds nothing any more that is of use, and may not come back by
// itself. One that never came takes longer, to find its coordinator for one; and so does one that
// took a lost one's place: what is said may be of that. A coordinator that is new knows nobody yet.
Time DueTime(const Draft& draft, const SeenProcess& process, const SeenLostShard& lost) {
  const Time lost_at = draft.now - Seconds(lost.seconds);
  if (!lost.was_there || process.started_at > lost_at)
    return std::max(process.started_at, lost_at) + Grace(draft, process.attempt);
  const Time due = lost_at + draft.options.lost_shard_patience;
  if (process.attempt == 0) return due;
  return std::max(due, process.started_at + Grace(draft, process.attempt - 1));
}

}  // namespace

// It cannot be asked to end. Whatever it does if it thaws: generations fence it.
void JudgeLostShards(Draft& draft) {
  if (draft.report == nullptr || !draft.options.can_recover_shards) return;
  for (const SeenLostShard& lost : draft.report->lost_shards) {
    const SeenProcess* process =
        draft.Find(ProcessName(draft.job.metadata.name, Role::kParameterServer, lost.rank));
    if (!IsUp(process)) continue;
    const Time due = DueTime(draft, *process, lost);
    if (draft.now < due) {
      draft.RequeueAt(due);
      continue;
    }
    draft.Abandon(*process, PlanReason::kShardLost);
    draft.Report(EventType::kWarning, PlanReason::kShardLost,
                 fmt::format("{} runs, but the coordinator has lost it: {}; it is started anew",
                             Named(*process), lost.reason));
  }
}

}  // namespace paceline::job
