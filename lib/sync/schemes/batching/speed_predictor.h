// Defines SpeedPredictor: the speed that a worker will have in its next step, from a mean over the
// past, or from Narx where that has proved better.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "lib/sync/schemes/batching/narx.h"

namespace paceline::sync {

// The root mean square of the newest 50 errors.
class RecentErrors {
 public:
  static constexpr size_t kWindow = 50;
  void Add(double error);
  size_t count() const { return squares_.size(); }
  double Rms() const;  // 0 without any.

 private:
  std::vector<double> squares_;
  size_t oldest_ = 0;
};

class SpeedPredictor {
 public:
  struct Options {
    double newest_weight = 0.3;  // Of the newest measurement in the mean.
    bool has_network = false;
    uint64_t seed = 0;  // Of the network.
  };
  // The mean is used until Narx has seen so many steps, and whenever Narx is worse by that factor.
  static constexpr size_t kStepsBefore = 50;
  static constexpr double kWorseMax = 1.05;
  // Narx is held within these multiples of the mean.
  static constexpr double kLeast = 0.25, kMost = 4;

  explicit SpeedPredictor(const Options& options);

  // Samples per second of a step, positive and finite; what was read when it was over.
  void Measured(double speed, const Signals& signals);

  bool is_known() const { return mean_ > 0; }
  double measured() const { return measured_; }    // The newest; 0 before the first.
  double predicted() const { return predicted_; }  // 0 unless is_known.
  bool uses_network() const { return uses_network_; }
  // Of logs, so that 0.1 is about 10 %.
  double mean_error() const { return mean_errors_.Rms(); }
  double network_error() const { return network_errors_.Rms(); }

  const Narx* network() const { return network_ ? &*network_ : nullptr; }
  Narx* network() { return network_ ? &*network_ : nullptr; }

  double mean() const { return mean_; }
  void Restore(double mean, const std::optional<Narx::Learnt>& learnt);

 private:
  void Predict();

  Options options_;
  double mean_ = 0;
  double measured_ = 0;
  double predicted_ = 0;
  std::optional<double> network_says_;
  bool uses_network_ = false;
  std::optional<Narx> network_;
  RecentErrors mean_errors_, network_errors_;
};

}  // namespace paceline::sync
