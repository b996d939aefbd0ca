// Defines PolicySpec: which scheme, with which knobs, as a value and as one line of text.
//
// The text is what heads a trace; fields at their defaults are left out:
//   SSP batch=256 workers=4 staleness=1 update-scale=full
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/sync/schemes/batching/sizing_spec.h"
#include "lib/sync/schemes/dbw/options.h"
#include "lib/sync/schemes/modulation/modulation.h"
#include "lib/sync/schemes/parts.h"
#include "lib/sync/schemes/scheme.h"
#include "lib/sync/schemes/update_scale.h"
#include "lib/sync/schemes/wbsp/wbsp_knobs.h"

namespace paceline::sync {

struct PolicySpec {
  Scheme scheme = Scheme::kBsp;
  Parts parts;                     // Changed about it.
  uint32_t global_batch_size = 1;  // Samples of one step of all workers together, at least 1.
  uint32_t workers_expected = 1;   // The first release waits for so many joins, at least 1.
  uint32_t backup_workers = 1;     // BackupWorkers: pushes that a step does not wait for.
  std::optional<uint64_t> staleness = 3;  // SSP, PSPlus: clocks of lead; absent: unbounded.
  UpdateScale update_scale = UpdateScale::kPerWorker;  // SSP, ASP, PSPlus.
  SizingSpec sizing;
  uint32_t depth = 1;             // Eager pull: own pushes that the version of a step may lack.
  ModulationOptions modulation;   // How staleness shrinks a push: its rule is PSPlus' alone.
  bool is_deterministic = false;  // BSP, BackupWorkers: accumulate in worker order.
  DbwOptions dbw;                 // Of that quorum.
  WbspKnobs wbsp;                 // Of local steps.
  bool is_barrier_kept = false;   // Auto: asynchronous steps are out of question.
  Version first_version;          // Published when the policy is made.
  friend bool operator==(const PolicySpec&, const PolicySpec&) = default;
};

// One line without its end; ParsePolicySpec gives an equal spec back.
std::string FormatPolicySpec(const PolicySpec& spec);

// InvalidArgument naming the field, its value and what would be right. The scheme's name is taken
// in any case.
StatusOr<PolicySpec> ParsePolicySpec(std::string_view text);

// InvalidArgument if a knob is out of range, or parts make no sense together (refusals.h).
Status Validate(const PolicySpec& spec);

}  // namespace paceline::sync
