// Writes a TrainingJob as JSON, the form in which a resolved job is handed to its processes, and
// reads it back.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "lib/job/manifest/decode.h"
#include "lib/job/manifest/node.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::job {

// Every field, those at their defaults too; absent ones are left out.
nlohmann::json ToJson(const TrainingJob& job);
nlohmann::json ToJson(const JobStatus& status);
nlohmann::json ToJson(const Node& node);

// FromJson(ToJson(job)).job == job. One error for what is larger than any job (size_check.h).
Decoded FromJson(const nlohmann::json& json, UnknownFields unknown = UnknownFields::kRefuse);

// JSON text, such as the resolved job's file. Text that is not JSON is one error.
Decoded FromJsonText(std::string_view text, UnknownFields unknown = UnknownFields::kRefuse);

Node ToNode(const nlohmann::json& json);
Node ToNode(const TrainingJob& job);

}  // namespace paceline::job
