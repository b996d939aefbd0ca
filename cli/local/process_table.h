// Defines ProcessTable: the processes of one local run, as the planner sees them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/local/child.h"
#include "lib/base/time.h"
#include "lib/job/plan/plan.h"
#include "lib/job/state/observation.h"

namespace paceline::local {

// One owner at a time. What still runs when it goes away is killed.
class ProcessTable {
 public:
  // Starts the process, in the place of an exited one of that name. One that cannot be started
  // shows as exited with kExitCannotWork and the reason as its last word.
  void Start(const job::Start& start, const Command& command, const std::string& last_word_path,
             Time now);
  // Asks it to end, and then what it left behind; after `grace` all that is left is killed. What
  // has exited is taken away.
  void Stop(const std::string& name, Duration grace, Time now);
  void StopAll(Duration grace, Time now);
  void KillAll();
  void Kill(const std::string& name);  // It shows as ended by that signal.

  // Notes who has ended and kills those whose grace is over. A process has ended once all that it
  // started has: what outlives it is asked to end, and killed five seconds later.
  void Update(Time now);

  std::vector<job::SeenProcess> Seen() const;
  const job::SeenProcess* Find(const std::string& name) const;
  bool IsAnyRunning() const;
  std::optional<Time> NextKill() const;

 private:
  struct Entry {
    job::SeenProcess seen;
    std::optional<Child> child;
    std::string last_word_path;
    std::string log_path;     // Where a last word is looked for that is not there; empty: nowhere.
    uint64_t log_begin = 0;   // What of it is of earlier lives, in bytes.
    std::string rotated_log;  // The same file, where it has a bound.
    uint64_t log_bytes_max = 0;
    std::optional<Time> kill_at;     // And again, as long as there is somebody.
    std::optional<Time> give_up_at;  // Set once its own process has ended and left others behind.
  };
  static bool HasTreeEnded(Entry& entry, Time now);
  void ReapOrphans();

  std::map<std::string, Entry> entries_;
};

}  // namespace paceline::local
