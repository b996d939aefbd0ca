// Defines UsageWatch: what the children of a process have used at any time of their lives.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace paceline::bench {

struct Usage {
  double cpu_seconds = 0;  // User and system.
  double minor_faults = 0;
};

// One owner at a time.
class UsageWatch {
 public:
  explicit UsageWatch(pid_t parent) : parent_(parent) {}

  // Looks at them: to be called often, say each 20 ms.
  void Look();

  // Between two moments of the steady clock (SteadySeconds), of the children whose command line
  // contains `words` in this order; between two looks the line that joins them. Children that were
  // not there all the time do not count.
  Usage Between(double begin, double end, const std::vector<std::string>& words) const;

 private:
  struct Moment {
    double at = 0;
    Usage usage;
  };
  struct Child {
    std::string command;  // Words joined by spaces.
    std::vector<Moment> looks;
  };
  void Find();

  pid_t parent_;
  double found_at_ = 0;
  std::map<pid_t, Child> children_;
};

}  // namespace paceline::bench
