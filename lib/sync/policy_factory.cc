#include "lib/sync/policy_factory.h"

#include <utility>

#include "lib/sync/controllers/batching/make_sizer.h"
#include "lib/sync/first_k.h"
#include "lib/sync/saved_pair.h"
#include "lib/sync/ssp.h"

namespace paceline::sync {
namespace {

Status LearnsNothing(const PolicySpec& spec, const std::string& saved) {
  return DataLoss("saved policy state is of another scheme: {} learns nothing, got {} bytes",
                  ToString(spec.scheme), saved.size());
}

StatusOr<std::unique_ptr<Policy>> MakeFirstK(const PolicySpec& spec, uint32_t backup_workers,
                                             const std::string& saved) {
  PACELINE_ASSIGN_OR_RETURN(const SavedPair learnt, SplitSaved(saved));
  if (!learnt.first.empty()) return LearnsNothing(spec, learnt.first);
  PACELINE_ASSIGN_OR_RETURN(
      std::unique_ptr<BatchSizer> sizer,
      MakeSizer({.global_batch_size = spec.global_batch_size, .spec = spec.sizing}, learnt.second));
  return std::unique_ptr<Policy>(
      std::make_unique<FirstK>(FirstK::Options{.backup_workers = backup_workers,
                                               .global_batch_size = spec.global_batch_size,
                                               .workers_expected = spec.workers_expected,
                                               .is_deterministic = spec.is_deterministic,
                                               .first_version = spec.first_version},
                               std::move(sizer)));
}

std::unique_ptr<Policy> MakeSsp(const PolicySpec& spec, std::optional<uint64_t> staleness) {
  return std::make_unique<Ssp>(
      Ssp::Options{.window = staleness ? StalenessWindow(*staleness) : StalenessWindow::Unbounded(),
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
      return MakeFirstK(spec, 0, saved);
    case Scheme::kBackupWorkers:
      return MakeFirstK(spec, spec.backup_workers, saved);
    case Scheme::kSsp:
      if (!saved.empty()) return LearnsNothing(spec, saved);
      return MakeSsp(spec, spec.staleness);
    case Scheme::kAsp:
      if (!saved.empty()) return LearnsNothing(spec, saved);
      return MakeSsp(spec, std::nullopt);
  }
  return InvalidArgument("scheme is unknown: {}", static_cast<int>(spec.scheme));
}

}  // namespace paceline::sync
