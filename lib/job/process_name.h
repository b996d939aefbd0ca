// Names the processes of a job: "digits-ps-0", "digits-worker-3", "digits-evaluator".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/job/words.h"

namespace paceline::job {

enum class Role { kParameterServer, kWorker, kEvaluator };
PACELINE_WORDS(Role, "ps", "worker", "evaluator")

// The same name for the same process, whoever asks and however often it was started. `index` is not
// used for the evaluator, of which there is one.
std::string ProcessName(std::string_view job, Role role, int64_t index);

}  // namespace paceline::job
