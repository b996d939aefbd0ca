// Defines Ways: how requests reach the coordinator of a cluster's job where not every way that a
// cluster may have is open (docs/adr/0092).
//
// Example:
//   Ways ways({{"through a proxy", by_proxy}, {"by a tunnel", by_tunnel}}, say);
//   StatusOr<std::string> piece = ways.Send(request);
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/kube/core/request.h"

namespace paceline::commands {

// Sends a request, whose path is the coordinator's own, once, and gives the body of what it
// answered, within the request's deadline and what `send` itself needs to get ready.
struct Way {
  std::string name;  // Behind "it goes ": "by kubectl port-forward to pod a/digits-ps-0".
  std::function<StatusOr<std::string>(kube::Request)> send;
};

// Whether another way may do better than one that ended so. Not where the API server knows no such
// pod or no such user, and not where the coordinator itself has answered.
bool MayAnotherWayHelp(const Status& error);

// One owner at a time.
class Ways {
 public:
  using Say = std::function<void(const std::string&)>;

  // At least one way; earlier ones are preferred. `say` gets, once each, which way it goes and why
  // one was left.
  Ways(std::vector<Way> ways, Say say);

  // Tries each way once, that which worked last before the others, until one answers. What a
  // coordinator says is the answer, even if it is a refusal. Where no way works: each with its
  // error; the code says whether trying again may help, which it may where it may for one of them.
  StatusOr<std::string> Send(const kube::Request& request);

 private:
  void SayOnce(size_t way, const std::string& text);

  std::vector<Way> ways_;
  Say say_;
  size_t current_ = 0;
  std::vector<std::string> said_;  // Of each way, the last that was said of it.
};

}  // namespace paceline::commands
