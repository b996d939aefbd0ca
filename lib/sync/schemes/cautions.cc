#include "lib/sync/schemes/cautions.h"

#include "lib/sync/schemes/presets.h"

namespace paceline::sync {

std::vector<Caution> CautionsOf(const PolicySpec& spec) {
  const Coordinates at = CoordinatesOf(spec);
  const bool are_all_waited_for = at.quorum == QuorumChoice{};
  const bool has_rounds_of_members = at.HasRounds() && at.counted == Counted::kMembers;
  if (spec.sizing.strategy != Sizing::kEqual && at.Kind() == PushKind::kGradient &&
      has_rounds_of_members && !are_all_waited_for) {
    return {{"batchSizing",
             "with fewer pushes than workers small batches tend to come first, so that a round "
             "waits until it holds its part of the batch; where speeds jump about, equal batches "
             "are faster"}};
  }
  return {};
}

}  // namespace paceline::sync
