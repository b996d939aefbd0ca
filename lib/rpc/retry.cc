#include "lib/rpc/retry.h"

#include <thread>

namespace paceline::rpc {

Sleeper ThreadSleeper() {
  return [](Duration duration) { std::this_thread::sleep_for(duration); };
}

}  // namespace paceline::rpc
