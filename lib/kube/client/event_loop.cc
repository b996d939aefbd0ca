#include "lib/kube/client/event_loop.h"

#include <future>

namespace paceline::kube {

bool EventLoop::RunAndWait(const std::function<void()>& run) {
  if (IsLoopThread()) {
    run();
    return true;
  }
  std::promise<void> ran;
  if (!Post([&] {
        run();
        ran.set_value();
      })) {
    return false;
  }
  ran.get_future().wait();
  return true;
}

}  // namespace paceline::kube
