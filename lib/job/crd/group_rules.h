// Defines the rules about groups of workers, and how rules count workers whatever their job has.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "lib/job/crd/rules.h"

namespace paceline::job {

std::span<const Rule> GroupRules();

// Words in rules, and the CEL that they stand for: of spec, $WORKERS, which are wanted, and
// $MOST_WORKERS, that there may be, of all groups, $HAS_COMMAND, whether workers run one, and
// $IS_JUDGED, whether anybody evaluates; and $HAS_GROUPS, of spec.workers.
std::span<const std::pair<std::string_view, std::string_view>> GroupWords();

}  // namespace paceline::job
