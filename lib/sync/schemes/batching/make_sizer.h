// Defines MakeSizer: the sizer of a strategy, with what an earlier one of its kind had learnt.
#pragma once

#include <memory>
#include <string>

#include "lib/base/status.h"
#include "lib/sync/schemes/batching/batch_sizer.h"
#include "lib/sync/schemes/batching/sizing_spec.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::sync {

struct SizerOptions {
  uint32_t global_batch_size = 1;
  SizingSpec spec;
  // Another controller learns from the times of the same steps: sizes change ten times as seldom,
  // or each would chase the other (schemes 2.11-7).
  bool is_slow = false;
  friend bool operator==(const SizerOptions&, const SizerOptions&) = default;
};

// What the spec asks for.
SizerOptions SizerOptionsOf(const PolicySpec& spec);

// DataLoss if `saved` is not what such a sizer saved.
StatusOr<std::unique_ptr<BatchSizer>> MakeSizer(const SizerOptions& options,
                                                const std::string& saved = "");

// InvalidArgument naming the knob that is out of range.
Status Validate(const SizingSpec& spec);

}  // namespace paceline::sync
