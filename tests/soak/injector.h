// Defines Injector: does a plan's faults to one running job, and takes them back.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "lib/base/status.h"
#include "tests/integration/live_run.h"
#include "tests/soak/disk.h"
#include "tests/soak/links.h"
#include "tests/soak/plan.h"

namespace paceline::soak {

struct Victims {
  const integration::LiveRun* run = nullptr;
  Links* links = nullptr;
  Disk* runs = nullptr;    // Of logs, traces and last states; null: there is none.
  Disk* volume = nullptr;  // Of checkpoints and the model; likewise.
  uint64_t workers = 0;
  uint64_t shards = 0;
};

// A fault that lasts. The descriptor names a process whatever becomes of its number.
struct AtWork {
  Fault fault;
  std::string target;
  double until = 0;  // By the caller's clock.
  int process = -1;
  Link link;
};

// One owner at a time.
class Injector {
 public:
  explicit Injector(const Victims& victims) : victims_(victims) {}
  ~Injector();  // Takes back what is left.
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  // Who was hit. Nothing if who would be is not there now, or suffers from the same already: to be
  // tried again.
  std::optional<std::string> Begin(const Fault& fault, double now);
  // Takes back what has lasted long enough; how many.
  int EndDue(double now);
  size_t at_work() const { return at_work_.size(); }

 private:
  std::string ProcessFor(const Fault& fault) const;
  bool BeginKill(AtWork& begun);
  bool BeginFreeze(AtWork& begun);
  bool BeginOnLink(AtWork& begun);
  bool BeginOnDisk(AtWork& begun);
  void End(AtWork& ended);
  bool IsHit(const std::string& target, Role role) const;

  const Victims victims_;
  std::list<AtWork> at_work_;
};

}  // namespace paceline::soak
