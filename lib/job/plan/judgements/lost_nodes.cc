#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {
namespace {

// Since when nobody can say whether the process still runs: its machine is silent, or it should
// have been gone and is not.
std::optional<Time> DoubtfulSince(const SeenProcess& process) {
  std::optional<Time> since = process.node_lost_since;
  if (process.is_stopping && process.gone_by)
    since = since ? std::min(*since, *process.gone_by) : *process.gone_by;
  return since;
}

}  // namespace

// Giving it up is safe: generations and incarnations fence a process that turns out to be alive.
void JudgeLostNodes(Draft& draft) {
  const auto patience = std::chrono::seconds(draft.job.spec.run_policy.node_lost_seconds);
  for (const SeenProcess& process : draft.seen.processes) {
    if (process.state == ProcessState::kExited && !process.is_stopping) continue;
    const std::optional<Time> since = DoubtfulSince(process);
    if (!since) continue;
    if (draft.now < *since + patience) {
      draft.RequeueAt(*since + patience);
      continue;
    }
    draft.Abandon(process, PlanReason::kNodeLost);
    draft.Report(EventType::kWarning, PlanReason::kNodeLost,
                 fmt::format("{} has not answered for nodeLostSeconds, {}; it is given up",
                             Named(process), patience.count()));
  }
}

}  // namespace paceline::job
