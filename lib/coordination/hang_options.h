// Defines HangOptions: how long a worker may go without a sign of progress (phases/hanging.h).
#pragma once

#include "lib/base/time.h"

namespace paceline::coordination {

struct HangOptions {
  double factor = 10;                  // Times how long the step is expected to take...
  Duration floor = Seconds(30);        // ...but no less than this.
  Duration first_step = Seconds(900);  // Of an incarnation, or while no step's time is known.
  Duration in_script = Seconds(1800);  // What a script does between its steps.
};

}  // namespace paceline::coordination
