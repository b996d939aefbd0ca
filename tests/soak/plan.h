// Defines what a soak does to which job, as a function of its seed alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/soak/draw.h"

namespace paceline::soak {

enum class Role { kWorker, kShard, kCoordinator, kEvaluator, kLink, kDisk };
enum class Kind {
  kKill,      // SIGKILL.
  kFreeze,    // SIGSTOP, and SIGCONT later.
  kCut,       // Of a link: connections break, and new ones are refused for a while.
  kSilence,   // Of a link: connections stay, nothing passes.
  kSlow,      // Of a link: so many bytes a second.
  kFill,      // Of the disk: nothing is free.
  kReadOnly,  // Of the disk: every write fails.
};

struct RoleAndKind {
  Role role;
  Kind kind;
  friend auto operator<=>(const RoleAndKind&, const RoleAndKind&) = default;
};
// All that there are, in the order of the table.
const std::vector<RoleAndKind>& AllFaults();

struct Fault {
  RoleAndKind what{};
  double after_seconds = 0;     // The episode's begin.
  double seconds = 0;           // How long; 0 for a kill.
  double where = 0;             // Share in [0, 1): which of the targets that are there.
  double bytes_per_second = 0;  // Of a slow link.
  friend bool operator==(const Fault&, const Fault&) = default;
};

// Faults that may overlap; the job has to get going again after the last of them.
struct Episode {
  double calm_seconds = 0;  // Before it.
  std::vector<Fault> faults;
  friend bool operator==(const Episode&, const Episode&) = default;
};

// What happens to one job, without end. Each role and kind comes once before any comes twice.
class Faults {
 public:
  Faults(uint64_t seed, uint64_t job);
  Episode Next();

 private:
  RoleAndKind Deal();

  Draws draws_;
  std::vector<RoleAndKind> deck_;  // What is left of it.
};

struct Scheme {
  std::string name;
  std::vector<std::string> overrides;  // As for --set.
};
// All schemes, each once.
const std::vector<Scheme>& Schemes();

struct JobPlan {
  uint64_t number = 0;
  Scheme scheme;
  bool has_checkpoints = false;
  bool ends_under_fire = false;  // One more episode comes on its way to the end.
};

// Jobs 2 r and 2 r + 1 run at once, in round r. Any 14 in a row are every scheme with checkpoints
// and without; the seed says with which they begin.
JobPlan PlanOf(uint64_t seed, uint64_t job);

const char* ToString(Role role);
const char* ToString(Kind kind);

}  // namespace paceline::soak
