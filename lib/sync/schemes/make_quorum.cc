#include "lib/sync/schemes/make_quorum.h"

#include "lib/sync/schemes/dbw/dbw.h"
#include "lib/sync/schemes/presets.h"
#include "lib/sync/schemes/rivals/ada_sync.h"
#include "lib/sync/schemes/rivals/star.h"
#include "lib/sync/schemes/wbsp/all_in_time.h"

namespace paceline::sync {
namespace {

using Rule = QuorumChoice::Rule;

// Who makes local steps is waited for so long, not for ever: the others stand still at last.
bool IsInTime(const Coordinates& at) { return at.IsLocal() && at.quorum == QuorumChoice{}; }

}  // namespace

bool DoesQuorumLearn(const PolicySpec& spec) {
  const Coordinates at = CoordinatesOf(spec);
  return at.quorum.rule == Rule::kDbw || IsInTime(at);
}

bool IsSameQuorum(const PolicySpec& a, const PolicySpec& b) {
  const Coordinates at = CoordinatesOf(a), other = CoordinatesOf(b);
  if (at.quorum != other.quorum || IsInTime(at) != IsInTime(other)) return false;
  if (at.quorum.rule == Rule::kDbw) return a.dbw == b.dbw;
  return !IsInTime(at) || at.local.round_timeout_factor == other.local.round_timeout_factor;
}

StatusOr<std::unique_ptr<Quorum>> MakeQuorum(const PolicySpec& spec, const std::string& saved) {
  const Coordinates at = CoordinatesOf(spec);
  if (at.quorum.rule == Rule::kDbw) {
    if (spec.dbw.method == DbwMethod::kAdaSync) return AdaSync::Make(spec.dbw, saved);
    if (spec.dbw.method == DbwMethod::kStar) return Star::Make(spec.dbw, saved);
    return Dbw::Make(spec.dbw, saved);
  }
  if (IsInTime(at)) return AllInTime::Make(at.local.round_timeout_factor, saved);
  if (!saved.empty()) {
    return DataLoss(
        "saved policy state is of another quorum: that of {} learns nothing, got {} "
        "bytes",
        ToString(spec.scheme), saved.size());
  }
  if (at.quorum.rule == Rule::kCount) return std::make_unique<FixedCount>(at.quorum.count);
  return std::make_unique<FixedBackup>(at.quorum.count);
}

}  // namespace paceline::sync
