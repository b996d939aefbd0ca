// Defines CoordinatorCall: one exchange with a job's coordinator, which nobody waits for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/kube/client/client.h"

namespace paceline::controller {

struct CoordinatorQuestion {
  kube::Config server;
  std::string method;
  std::string path;
  std::string body;
  Duration deadline;
};

// Used by one thread at a time. A coordinator that does not answer costs a connection, and no
// thread. Destroyed, it hangs up.
class CoordinatorCall {
 public:
  using Answer = StatusOr<std::string>;

  // Instead of one that is under way. `answered` runs on the client's loop, once, when there is
  // something to take. `client` outlives the call.
  void Start(kube::Client& client, CoordinatorQuestion question, std::function<void()> answered);
  // Whether one was started whose answer has not been taken.
  bool IsUnderWay() const { return state_ != nullptr; }
  // What came of it, once, as soon as something has. Unavailable if nobody answers or the wrong one
  // does, and where it does not know us (401, 403); FailedPrecondition with the answer's text for
  // any other 4xx.
  std::optional<Answer> Take();

 private:
  struct State;
  std::shared_ptr<State> state_;  // Shared with the callback; null where none is under way.
  kube::CallHandle handle_;
};

}  // namespace paceline::controller
