// Says which labels and annotations nobody else may give to what a job makes.
#pragma once

#include <string>
#include <string_view>

namespace paceline::controller {

// Why a default may not set the label or annotation `key`: Paceline sets or selects by it, or a
// GitOps tool tracks, and deletes, by it. Empty: it may.
std::string WhyReserved(std::string_view key);

}  // namespace paceline::controller
