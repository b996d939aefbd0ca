#include "lib/sync/schemes/policy_factory.h"

#include <utility>

#include "lib/sync/schemes/batching/make_sizer.h"
#include "lib/sync/schemes/dbw/ada_sync.h"
#include "lib/sync/schemes/dbw/dbw.h"
#include "lib/sync/schemes/first_k.h"
#include "lib/sync/schemes/ps_plus/ps_plus.h"
#include "lib/sync/schemes/saved_pair.h"
#include "lib/sync/schemes/ssp.h"
#include "lib/sync/schemes/wbsp/wbsp.h"

namespace paceline::sync {
namespace {

Status LearnsNothing(const PolicySpec& spec, const std::string& saved) {
  if (saved.empty()) return OkStatus();
  return DataLoss("saved policy state is of another scheme: {} learns nothing, got {} bytes",
                  ToString(spec.scheme), saved.size());
}

StatusOr<std::unique_ptr<Quorum>> MakeQuorum(const PolicySpec& spec, const std::string& saved) {
  if (spec.scheme == Scheme::kDbw) {
    if (spec.dbw.method == DbwMethod::kAdaSync) return AdaSync::Make(spec.dbw, saved);
    return Dbw::Make(spec.dbw, saved);
  }
  PACELINE_RETURN_IF_ERROR(LearnsNothing(spec, saved));
  return std::make_unique<FixedBackup>(spec.scheme == Scheme::kBackupWorkers ? spec.backup_workers
                                                                             : 0);
}

StatusOr<std::unique_ptr<Policy>> MakeFirstK(const PolicySpec& spec, const std::string& saved) {
  PACELINE_ASSIGN_OR_RETURN(const SavedPair learnt, SplitSaved(saved));
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<Quorum> quorum, MakeQuorum(spec, learnt.first));
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<BatchSizer> sizer,
                            MakeSizer({.global_batch_size = spec.global_batch_size,
                                       .spec = spec.sizing,
                                       .is_slow = spec.scheme == Scheme::kDbw},
                                      learnt.second));
  return std::make_unique<FirstK>(
      FirstK::Options{
          .global_batch_size = spec.global_batch_size,
          .workers_expected = spec.workers_expected,
          .is_deterministic = spec.is_deterministic,
          .late_worker = spec.scheme == Scheme::kDbw ? spec.dbw.late_worker : LateWorker::kOffer,
          .first_version = spec.first_version},
      std::move(quorum), std::move(sizer));
}

std::unique_ptr<Policy> MakeSsp(const PolicySpec& spec, std::optional<uint64_t> staleness) {
  return std::make_unique<Ssp>(
      Ssp::Options{.window = staleness ? StalenessWindow(*staleness) : StalenessWindow::Unbounded(),
                   .global_batch_size = spec.global_batch_size,
                   .workers_expected = spec.workers_expected,
                   .update_scale = spec.update_scale,
                   .first_version = spec.first_version});
}

StatusOr<std::unique_ptr<Policy>> MakeWbsp(const PolicySpec& spec, const std::string& saved) {
  PACELINE_ASSIGN_OR_RETURN(const std::optional<double> round_seconds, Wbsp::ReadSaved(saved));
  return std::make_unique<Wbsp>(Wbsp::Options{.knobs = spec.wbsp,
                                              .global_batch_size = spec.global_batch_size,
                                              .workers_expected = spec.workers_expected,
                                              .first_version = spec.first_version,
                                              .round_seconds = round_seconds});
}

std::unique_ptr<Policy> MakePsPlus(const PolicySpec& spec) {
  return std::make_unique<PsPlus>(PsPlus::Options{
      .window = spec.staleness ? StalenessWindow(*spec.staleness) : StalenessWindow::Unbounded(),
      .depth = spec.depth,
      .modulation = spec.modulation,
      .global_batch_size = spec.global_batch_size,
      .workers_expected = spec.workers_expected,
      .update_scale = spec.update_scale,
      .first_version = spec.first_version});
}

}  // namespace

StatusOr<std::unique_ptr<Policy>> MakePolicy(const PolicySpec& spec, const std::string& saved) {
  PACELINE_RETURN_IF_ERROR(Validate(spec));
  switch (spec.scheme) {
    case Scheme::kBsp:
    case Scheme::kBackupWorkers:
    case Scheme::kDbw:
      return MakeFirstK(spec, saved);
    case Scheme::kSsp:
      PACELINE_RETURN_IF_ERROR(LearnsNothing(spec, saved));
      return MakeSsp(spec, spec.staleness);
    case Scheme::kAsp:
      PACELINE_RETURN_IF_ERROR(LearnsNothing(spec, saved));
      return MakeSsp(spec, std::nullopt);
    case Scheme::kWbsp:
      return MakeWbsp(spec, saved);
    case Scheme::kPsPlus:
      return MakePsPlus(spec);
  }
  return InvalidArgument("scheme is unknown: {}", static_cast<int>(spec.scheme));
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
