// Writes the structural OpenAPI schema of TrainingJob: a visitor of Fields (note.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace paceline::job {

// Types, enums, bounds, defaults and descriptions come from the structs and their notes, rules
// between fields from rules.h. The defaults are those of the structs; what depends on other fields
// (defaults.h) is left to Paceline, and so is a block of a choice that nobody wrote (Note).
nlohmann::ordered_json OpenApiSchema();

}  // namespace paceline::job
