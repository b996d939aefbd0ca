// Defines AllInTime: a Quorum of everybody who pushes within some times the mean round.
#pragma once

#include <memory>
#include <optional>
#include <string>

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
  AllInTime(double factor, std::optional<double> round_seconds)
      : factor_(factor), round_seconds_(round_seconds) {}

  double factor_;
  std::optional<double> round_seconds_;  // Mean, newer ones counting more.
  std::optional<Time> began_;            // The running round.
  bool has_pushes_ = false;
};

}  // namespace paceline::sync
