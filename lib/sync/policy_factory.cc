#include "lib/sync/policy_factory.h"

#include "lib/sync/first_k.h"
#include "lib/sync/ssp.h"

namespace paceline::sync {
namespace {

std::unique_ptr<Policy> MakeFirstK(const PolicySpec& spec, uint32_t backup_workers) {
  return std::make_unique<FirstK>(FirstK::Options{.backup_workers = backup_workers,
                                                  .global_batch_size = spec.global_batch_size,
                                                  .workers_expected = spec.workers_expected,
                                                  .is_deterministic = spec.is_deterministic,
                                                  .first_version = spec.first_version});
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
  if (!saved.empty()) {
    return DataLoss("saved policy state is of another scheme: {} learns nothing, got {} bytes",
                    ToString(spec.scheme), saved.size());
  }
  switch (spec.scheme) {
    case Scheme::kBsp:
      return MakeFirstK(spec, 0);
    case Scheme::kBackupWorkers:
      return MakeFirstK(spec, spec.backup_workers);
    case Scheme::kSsp:
      return MakeSsp(spec, spec.staleness);
    case Scheme::kAsp:
      return MakeSsp(spec, std::nullopt);
  }
  return InvalidArgument("scheme is unknown: {}", static_cast<int>(spec.scheme));
}

}  // namespace paceline::sync
