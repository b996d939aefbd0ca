#include "lib/sync/schemes/batching/make_sizer.h"

#include <algorithm>

#include "lib/sync/schemes/batching/equal.h"
#include "lib/sync/schemes/batching/speed_sizer.h"
#include "lib/sync/schemes/batching/stepwise_sizer.h"
#include "lib/sync/schemes/presets.h"

namespace paceline::sync {
namespace {

constexpr uint32_t kSlowSteps = 10;

StatusOr<std::unique_ptr<BatchSizer>> Unlearnt(std::unique_ptr<BatchSizer> sizer,
                                               const SizingSpec& spec, const std::string& saved) {
  if (saved.empty()) return sizer;
  return DataLoss("saved batch sizing is of another strategy: {} learns nothing, got {} bytes",
                  ToString(spec.strategy), saved.size());
}

}  // namespace

SizerOptions SizerOptionsOf(const PolicySpec& spec) {
  return {.global_batch_size = spec.global_batch_size,
          .spec = spec.sizing,
          .is_slow = CoordinatesOf(spec).quorum.rule == QuorumChoice::Rule::kDbw};
}

StatusOr<std::unique_ptr<BatchSizer>> MakeSizer(const SizerOptions& options,
                                                const std::string& saved) {
  SizingSpec spec = options.spec;
  switch (spec.strategy) {
    case Sizing::kEqual:
      return Unlearnt(std::make_unique<EqualSizer>(options.global_batch_size), spec, saved);
    case Sizing::kStepwise: {
      if (options.is_slow) spec.period_steps = std::max(spec.period_steps, kSlowSteps);
      auto sizer = std::make_unique<StepwiseSizer>(
          StepwiseSizer::Options{.global_batch_size = options.global_batch_size, .spec = spec});
      PACELINE_RETURN_IF_ERROR(sizer->Restore(saved));
      return std::unique_ptr<BatchSizer>(std::move(sizer));
    }
    case Sizing::kEma:
    case Sizing::kNarx:
      break;
  }
  auto sizer = std::make_unique<SpeedSizer>(
      SpeedSizer::Options{.global_batch_size = options.global_batch_size,
                          .spec = spec,
                          .period_steps = options.is_slow ? kSlowSteps : 1});
  PACELINE_RETURN_IF_ERROR(sizer->Restore(saved));
  return std::unique_ptr<BatchSizer>(std::move(sizer));
}

Status Validate(const SizingSpec& spec) {
  if (spec.batch_min == 0) return InvalidArgument("least batch is 0, want at least 1 sample");
  if (spec.batch_max < spec.batch_min) {
    return InvalidArgument("largest batch is {}, want at least the least, {}", spec.batch_max,
                           spec.batch_min);
  }
  if (!(spec.newest_weight > 0 && spec.newest_weight <= 1)) {
    return InvalidArgument("weight of the newest is {}, want more than 0 and at most 1",
                           spec.newest_weight);
  }
  if (spec.period_steps == 0) return InvalidArgument("period is 0, want at least 1 step");
  if (!(spec.dead_band >= 0 && spec.rapid > spec.dead_band)) {
    return InvalidArgument("rapid is {}, want more than the dead band, {}", spec.rapid,
                           spec.dead_band);
  }
  return OkStatus();
}

}  // namespace paceline::sync
