#include <algorithm>

#include "lib/job/plan/judgements.h"

namespace paceline::job {

void JudgeScale(Draft& draft) {
  for (const WantedProcess& wanted : draft.wanted) {
    if (draft.Find(wanted.name) == nullptr) draft.Begin(wanted, 0, 0);
  }
  for (const SeenProcess& process : draft.seen.processes) {
    const bool is_wanted =
        std::any_of(draft.wanted.begin(), draft.wanted.end(),
                    [&](const WantedProcess& wanted) { return wanted.name == process.name; });
    if (!is_wanted && !process.is_stopping) draft.End(process, PlanReason::kScaledDown);
  }
}

}  // namespace paceline::job
