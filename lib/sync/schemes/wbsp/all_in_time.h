// Defines AllInTime: a Quorum of everybody who pushes within some times the mean round.
//
// A round that ran out of time says nothing of how long a round takes, but for what follows: it
// counts as long as it would have lasted until the last one of its missing came, of those that do
// come. So nobody who is gone makes rounds seem longer, and all who have become slower are waited
// for again within a few rounds. Who comes later than the factor times what the round has lasted
// was away, and counts for that much.
//
// While no round has been measured, the slowest push of the running one is taken for it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/sync/schemes/quorum.h"

namespace paceline::sync {

class AllInTime : public Quorum {
 public:
  // `factor` above 1. DataLoss if `saved` is not what one of these saved.
  static StatusOr<std::unique_ptr<Quorum>> Make(double factor, const std::string& saved);

  void Observe(const StepFact& fact, Time now) override;
  uint32_t PushesWanted(uint32_t taking_part) const override { return taking_part; }
  // Nothing can be published before somebody has pushed.
  std::optional<Time> Deadline() const override;
  std::string Save() const override;  // The mean round.
  std::unique_ptr<Quorum> Clone() const override { return std::make_unique<AllInTime>(*this); }

 private:
  // A round that ran out of time.
  struct Overdue {
    Time began{};
    std::vector<WorkerId> missing;  // Not heard of since.
    double seconds_most = 0;        // That it may count for...
    double seconds = 0;             // ...and that it counts for...
    double share = 0;               // ...with this share of the mean; 0: it does not count yet.
  };

  AllInTime(double factor, std::optional<double> round_seconds)
      : factor_(factor), round_seconds_(round_seconds) {}

  void On(const StepBegan&, Time now);
  void On(const PushCounted& push, Time now);
  void On(const PushLate& push, Time now) { Heard(push.worker, now); }
  void On(const StepClosed&, Time now);
  void On(const SilentGivenUp& given_up, Time now);
  void On(const WorkerForgotten& gone, Time now);
  template <class Other>
  void On(const Other&, Time) {}
  void Heard(WorkerId worker, Time now);
  void Count(double seconds);

  double factor_;
  std::optional<double> round_seconds_;  // Mean, newer ones counting more.
  std::optional<Time> began_;            // The running round...
  std::optional<Time> pushed_;           // ...and its newest push.
  bool is_out_of_time_ = false;          // It ends without the missing of the last Overdue.
  std::vector<Overdue> overdue_;
};

}  // namespace paceline::sync
