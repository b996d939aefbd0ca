// Defines OpenModel and OpenTraces: what a scenario names, out of its files.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "lib/job/manifest/field_error.h"
#include "simulator/learning/model_objective.h"
#include "simulator/scenario/scenario.h"

namespace paceline::simulator {

struct OpenedModel {
  std::unique_ptr<ModelObjective> objective;
  std::vector<job::FieldError> errors;  // All there are; none: there is an objective.
};

// Paths are relative to `folder`.
OpenedModel OpenModel(const LearntModel& model, const std::filesystem::path& folder);

// Gives the scenario's cluster the text of its injected traces. What is wrong with them; then some
// may be missing.
std::vector<job::FieldError> OpenTraces(const std::filesystem::path& folder, Scenario& scenario);

}  // namespace paceline::simulator
