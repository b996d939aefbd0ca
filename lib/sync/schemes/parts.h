// Defines Parts: what a spec changes about its scheme. What is absent is as the scheme says.
//
// In the text of a spec:
//   DBW batch=64 workers=4 meanwhile=eager-pull sizing=NARX
//   BSP batch=64 workers=4 quorum=3 late=weigh modulate=staleness
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/base/outer_step.h"
#include "lib/sync/schemes/late_worker.h"
#include "lib/sync/schemes/meanwhile.h"
#include "lib/sync/schemes/modulation/modulation.h"
#include "lib/sync/schemes/update_scale.h"

namespace paceline::sync {

class Fields;
class FieldWriter;

// Of how many pushes a version is made.
struct QuorumChoice {
  enum class Rule {
    kAllBut,  // Of all who take part, but for `count`.
    kDbw,     // Of as many as promise most.
    kCount,   // Of `count`, at least 1.
  };
  Rule rule = Rule::kAllBut;
  uint32_t count = 0;
  friend bool operator==(const QuorumChoice&, const QuorumChoice&) = default;
};
// "all", "dbw", or a number. All but some is a scheme's own, BackupWorkers', and is not written.
bool ReadValue(std::string_view text, QuorumChoice& value);

// What becomes of a push that is older than what the open round takes.
enum class Late {
  kDrop,
  kWeigh,  // It counts, for less, by how late it is.
};

inline constexpr Word<Late> kLateWords[] = {{Late::kDrop, "drop"}, {Late::kWeigh, "weigh"}};
constexpr Words<Late> WordsOf(Late) { return kLateWords; }

struct Parts {
  std::optional<QuorumChoice> quorum;
  std::optional<uint64_t> reach;  // Versions that a push may be behind and still count in full.
  std::optional<Late> late;
  std::optional<uint64_t> staleness;  // Clocks of lead over the slowest.
  std::optional<Meanwhile> meanwhile;
  std::optional<Modulation> modulation;
  std::optional<LateWorker> late_worker;
  std::optional<UpdateScale> update_scale;
  std::optional<OuterStep> outer;  // How the mean of local steps moves the model; absent: plainly.
  friend bool operator==(const Parts&, const Parts&) = default;
};

void AddTo(FieldWriter& line, const Parts& parts);
void TakeFrom(Fields& fields, Parts& parts);

}  // namespace paceline::sync
