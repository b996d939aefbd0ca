#include "operator/controller/clock.h"

#include <chrono>

namespace paceline::controller {

Time WallNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return Time(std::chrono::duration_cast<Duration>(std::chrono::floor<std::chrono::seconds>(now)));
}

}  // namespace paceline::controller
