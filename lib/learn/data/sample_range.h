// Defines SampleRange: which samples a step is made of.
#pragma once

#include "lib/base/epoch_range.h"

namespace paceline::learn {

using SampleRange = EpochRange;

}  // namespace paceline::learn
