// Defines the words that logs, metrics and error messages use for the protocol's enums.
#pragma once

#include <string_view>

#include "lib/protocol/worker_messages.h"

namespace paceline::protocol {

std::string_view ToString(Role role);            // "worker", "evaluator"
std::string_view ToString(RefuseReason reason);  // "layout-differs", "data-differs", ...

}  // namespace paceline::protocol
