// Defines what a scenario says of what is learnt and how: its objective, and how its learning rate
// changes.
#pragma once

#include "simulator/scenario/fields.h"
#include "simulator/scenario/scenario.h"

namespace paceline::simulator {

// spec.objective.
void ReadObjective(Fields& fields, Scenario& scenario);

// spec.training.learningRateSchedule; a step is `global_batch_size` samples.
void ReadSchedule(Fields& fields, uint32_t global_batch_size, optim::ScheduleOptions& schedule);

}  // namespace paceline::simulator
