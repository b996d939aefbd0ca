// Defines WireTypesOf: how a job's numbers travel.
#pragma once

#include "lib/base/wire_type.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::job {

inline WireType WireTypeOf(NumberType type) {
  return type == NumberType::kBfloat16 ? WireType::kBfloat16 : WireType::kFloat32;
}

inline WireTypes WireTypesOf(const Network& network) {
  return {WireTypeOf(network.gradient_type), WireTypeOf(network.parameter_type)};
}

}  // namespace paceline::job
