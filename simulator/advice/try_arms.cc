#include "simulator/advice/try_arms.h"

#include <utility>

namespace paceline::simulator {

StatusOr<TriedArms> TryArms(std::vector<TriedArm> arms, ClusterOptions cluster,
                            const TryOptions& options, const std::string& where,
                            const OnArm& on_arm) {
  TriedArms found;
  for (TriedArm& arm : arms) {
    on_arm(arm.candidate.name + where, static_cast<size_t>(&arm - arms.data()), arms.size());
    StatusOr<Trials> trials = Try(cluster, arm.candidate.policy, options);
    if (!trials.ok() && !arm.is_recorded) {
      found.left_out.push_back({arm.candidate.name, Message(trials.status())});
      continue;
    }
    PACELINE_RETURN_IF_ERROR(trials.status());
    arm.trials = *std::move(trials);
    if (arm.is_recorded) cluster.seconds_max = SecondsForOthers(arm.trials, cluster.seconds_max);
    found.tried.push_back(std::move(arm));
  }
  return found;
}

}  // namespace paceline::simulator
