// Defines the rules of what is trained, on what, until when, and by what it is judged.
#pragma once

#include <span>

#include "lib/job/crd/rules.h"

namespace paceline::job {

std::span<const Rule> TrainingRules();

}  // namespace paceline::job
