// Defines what the tests of who weighs noise share.
#pragma once

#include "lib/sync/schemes/estimates/noise_scale.h"

namespace paceline::sync::testing {

// Of a global batch of 8 whose step of all has N and V.
inline NoiseScale NoiseOf(double squared_gradient, double variance) {
  NoiseScale noise(8);
  noise.AddPush(4, squared_gradient + 2 * variance);
  noise.AddPush(4, squared_gradient + 2 * variance);
  noise.Close(1);
  noise.Applied(squared_gradient + variance);
  return noise;
}

}  // namespace paceline::sync::testing
