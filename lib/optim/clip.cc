#include "lib/optim/clip.h"

#include <algorithm>
#include <cmath>

namespace paceline::optim {

double ClipScale(double squared_norm, double max_norm) {
  if (!std::isfinite(squared_norm)) return 1;
  return std::min(1.0, max_norm / (std::sqrt(squared_norm) + 1e-6));
}

}  // namespace paceline::optim
