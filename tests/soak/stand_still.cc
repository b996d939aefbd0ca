#include "tests/soak/stand_still.h"

namespace paceline::soak {

void StandStill::Saw(double now, const std::optional<Place>& place) {
  if (!place) return;
  const bool is_same_life =
      place_ && place_->start == place->start && place_->counter == place->counter;
  const uint64_t before = is_same_life ? place_->step : place->step;
  place_ = place;
  if (place->step <= before) return;
  steps_ += place->step - before;
  longest_ = std::max(longest_, now - moved_);
  recent_ = std::max(recent_, now - moved_);
  moved_ = now;
}

}  // namespace paceline::soak
