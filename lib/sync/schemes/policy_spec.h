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
#include "lib/sync/contract/word.h"
#include "lib/sync/schemes/batching/sizing_spec.h"
#include "lib/sync/schemes/dbw/options.h"
#include "lib/sync/schemes/modulation/modulation.h"
#include "lib/sync/schemes/wbsp/wbsp_knobs.h"

namespace paceline::sync {

// Named as in manifests.
enum class Scheme { kBsp, kSsp, kAsp, kBackupWorkers, kDbw, kWbsp, kPsPlus };

inline constexpr Word<Scheme> kSchemeWords[] = {
    {Scheme::kBsp, "BSP"},       {Scheme::kSsp, "SSP"},
    {Scheme::kAsp, "ASP"},       {Scheme::kBackupWorkers, "BackupWorkers"},
    {Scheme::kDbw, "DBW"},       {Scheme::kWbsp, "WBSP"},
    {Scheme::kPsPlus, "PSPlus"},
};
constexpr Words<Scheme> WordsOf(Scheme) { return kSchemeWords; }

// How far one worker's push moves the parameters where each push is a commit of its own.
enum class UpdateScale {
  kPerWorker,  // By its share of the global batch: one sweep over all workers is one BSP step.
  kFull,       // By a whole step.
};

inline constexpr Word<UpdateScale> kUpdateScaleWords[] = {
    {UpdateScale::kPerWorker, "per-worker"},
    {UpdateScale::kFull, "full"},
};
constexpr Words<UpdateScale> WordsOf(UpdateScale) { return kUpdateScaleWords; }

struct PolicySpec {
  Scheme scheme = Scheme::kBsp;
  uint32_t global_batch_size = 1;  // Samples of one step of all workers together, at least 1.
  uint32_t workers_expected = 1;   // The first release waits for so many joins, at least 1.
  uint32_t backup_workers = 1;     // BackupWorkers: pushes that a step does not wait for.
  std::optional<uint64_t> staleness = 3;  // SSP, PSPlus: clocks of lead; absent: unbounded.
  UpdateScale update_scale = UpdateScale::kPerWorker;  // SSP, ASP, PSPlus.
  SizingSpec sizing;                                   // Barrier schemes; others share out equally.
  uint32_t depth = 1;             // PSPlus: answers under way at once, at least 1.
  ModulationOptions modulation;   // PSPlus: how staleness shrinks a push.
  bool is_deterministic = false;  // BSP, BackupWorkers: accumulate in worker order.
  DbwOptions dbw;                 // DBW.
  WbspKnobs wbsp;                 // WBSP.
  Version first_version;          // Published when the policy is made.
  friend bool operator==(const PolicySpec&, const PolicySpec&) = default;
};

// One line without its end; ParsePolicySpec gives an equal spec back.
std::string FormatPolicySpec(const PolicySpec& spec);

// InvalidArgument naming the field, its value and what would be right. The scheme's name is taken
// in any case.
StatusOr<PolicySpec> ParsePolicySpec(std::string_view text);

// InvalidArgument if a knob is out of range.
Status Validate(const PolicySpec& spec);

}  // namespace paceline::sync
