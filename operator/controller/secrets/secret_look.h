// Says how a job's Secrets are looked at, which nobody watches.
#pragma once

namespace paceline::controller {

enum class SecretLook {
  kRemembered,  // What was in order before is taken to be so.
  kAnew,        // They are read by their names: somebody may have changed or deleted them.
};

}  // namespace paceline::controller
