#include "lib/sync/schemes/policy_factory.h"

#include <utility>

#include "lib/sync/schemes/batching/make_sizer.h"
#include "lib/sync/schemes/dbw/ada_sync.h"
#include "lib/sync/schemes/dbw/dbw.h"
#include "lib/sync/schemes/engine/engine.h"
#include "lib/sync/schemes/presets.h"
#include "lib/sync/schemes/saved_pair.h"
#include "lib/sync/schemes/wbsp/all_in_time.h"

namespace paceline::sync {
namespace {

// One part where a scheme has one controller that learns, else two.
StatusOr<SavedPair> Learnt(const PolicySpec& spec, const std::string& saved) {
  if (spec.scheme == Scheme::kWbsp && saved.rfind("wbsp ", 0) == 0) return SavedPair{saved, ""};
  if (PresetOf(spec).HasRounds() || saved.empty()) return SplitSaved(saved);
  return DataLoss("saved policy state is of another scheme: {} learns nothing, got {} bytes",
                  ToString(spec.scheme), saved.size());
}

StatusOr<std::unique_ptr<Quorum>> MakeQuorum(const PolicySpec& spec, const std::string& saved) {
  if (spec.scheme == Scheme::kDbw) {
    if (spec.dbw.method == DbwMethod::kAdaSync) return AdaSync::Make(spec.dbw, saved);
    return Dbw::Make(spec.dbw, saved);
  }
  if (spec.scheme == Scheme::kWbsp) return AllInTime::Make(spec.wbsp.round_timeout_factor, saved);
  if (!saved.empty())
    return DataLoss("saved policy state is of another scheme: {} learns nothing, got {} bytes",
                    ToString(spec.scheme), saved.size());
  if (!PresetOf(spec).HasRounds()) return std::make_unique<FixedCount>(1);
  return std::make_unique<FixedBackup>(spec.scheme == Scheme::kBackupWorkers ? spec.backup_workers
                                                                             : 0);
}

}  // namespace

StatusOr<std::unique_ptr<Policy>> MakePolicy(const PolicySpec& spec, const std::string& saved) {
  PACELINE_RETURN_IF_ERROR(Validate(spec));
  PACELINE_ASSIGN_OR_RETURN(const SavedPair learnt, Learnt(spec, saved));
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<Quorum> quorum, MakeQuorum(spec, learnt.first));
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<BatchSizer> sizer,
                            MakeSizer({.global_batch_size = spec.global_batch_size,
                                       .spec = spec.sizing,
                                       .is_slow = spec.scheme == Scheme::kDbw},
                                      learnt.second));
  return std::make_unique<Engine>(Engine::Options{.global_batch_size = spec.global_batch_size,
                                                  .workers_expected = spec.workers_expected,
                                                  .at = PresetOf(spec),
                                                  .first_version = spec.first_version},
                                  std::move(quorum), std::move(sizer));
}

// What is not named here is not taken over on the run.
bool MayReconfigure(const PolicySpec& from, const PolicySpec& to) {
  PolicySpec taken = from;
  taken.backup_workers = to.backup_workers;
  taken.staleness = to.staleness;
  taken.update_scale = to.update_scale;
  return taken == to;
}

}  // namespace paceline::sync
