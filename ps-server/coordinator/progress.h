// Defines Progress, what people are shown of a running job, and ProgressMeter, which works its
// rates out.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/time.h"
#include "lib/coordination/coordinator.h"
#include "lib/sync/contract/figure.h"
#include "ps-server/coordinator/straggler_watch.h"

namespace paceline::ps {

struct Progress {
  coordination::Status status;
  std::vector<WorkerPace> paces;  // Of status.workers, in their order.
  double seconds = 0;             // Since training opened, in this coordinator's life...
  uint64_t samples_before = 0;    // ...and the samples that were committed then.
  double samples_per_second = 0;  // Over the last ten seconds.
  double steps_per_second = 0;
  double percent = 0;  // Of the samples or steps that the stop rule allows; 0 without one.
  std::optional<double> eta_seconds;
  std::vector<sync::Figure> figures;  // What the policy works with.
  // Shards that are not there, by rank: how long, by the clock of this look.
  struct LostShard {
    uint64_t rank;
    std::string reason;
    double seconds;
    bool was_there;
  };
  std::vector<LostShard> lost_shards;
  std::string standstill;       // As of coordination::StandstillInWords.
  std::string room_problem;     // Why the final model may find no room; empty: it has some.
  std::string checkpoint_note;  // What the checkpoints that were there at the start came to.
  // Of parameter groups, that fit no parameter; once the model is known.
  std::vector<std::string> idle_patterns;
  std::string checkpoint_completed;  // UTC, of the newest of this coordinator's life; or empty.
  // The last hundred that are complete, and the open ones.
  std::vector<coordination::Coordinator::EpochCount> epochs;
};

// A value: told of each published version, asked for the rates. One owner at a time.
class ProgressMeter {
 public:
  ProgressMeter(uint64_t epochs_max, uint64_t steps_max);
  void StopsAt(uint64_t epochs_max, uint64_t steps_max);  // 0: no bound.

  // With what is published now. Again after a roll back: `seconds` goes on.
  void Opened(Version version, uint64_t committed_samples, Time now);
  void Published(Version version, uint64_t committed_samples, Time now);
  void Ended(Time now);  // Rates and seconds stand still from here.

  Progress Measure(const coordination::Coordinator& coordinator, Time now) const;

 private:
  struct Point {
    Time at;
    uint64_t version;
    uint64_t samples;
  };

  uint64_t epochs_max_;
  uint64_t steps_max_;
  std::optional<Time> opened_;
  uint64_t samples_before_ = 0;
  Point reopened_{};  // The last time.
  std::optional<Time> ended_;
  std::deque<Point> window_;  // The last kWindow, oldest first; never empty once opened.
};

}  // namespace paceline::ps
