#include "lib/kube/client/event_loop.h"

#include <future>

namespace paceline::kube {

void EventLoop::RunAndWait(const std::function<void()>& run) {
  if (IsLoopThread()) return run();
  // Owned by what is posted: a stopped loop drops it, and the wait ends.
  auto ran = std::make_shared<std::promise<void>>();
  std::future<void> done = ran->get_future();
  Post([&run, ran = std::move(ran)] {
    run();
    ran->set_value();
  });
  done.wait();
}

}  // namespace paceline::kube
