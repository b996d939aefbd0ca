// Defines Measure and Judged: what the evaluations of one version are worth beside another's. Early
// stopping, cuts of the learning rate and the best version hang on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/version.h"
#include "lib/protocol/worker_messages.h"

namespace paceline::coordination {

// "Accuracy", "Loss", or one of the model's own metrics by its name.
struct Measure {
  std::string metric = "Loss";
  bool is_higher_better = false;
  friend bool operator==(const Measure&, const Measure&) = default;
};

// Nothing where the result has no such number.
std::optional<double> ValueOf(const Measure& measure, const protocol::Evaluated& result);
// In words, why it has none: "there is no accuracy: ...", "there is no metric f1, only recall".
std::string WhyNoValue(const Measure& measure, const protocol::Evaluated& result);

struct JudgingOptions {
  Measure measure;
  double least_gain = 0;  // A version is better by more than this.
  // Evaluations in a row without a better version, after which training ends; 0: it does not.
  uint32_t patience = 0;
  // As torch.optim.lr_scheduler.ReduceLROnPlateau with threshold_mode "abs": after more than
  // `patience` evaluations in a row without a better version the rate is `factor` of what it was,
  // `rate_min` at the least; and they are counted anew.
  struct Plateau {
    double factor = 0.1;
    uint32_t patience = 10;
    double rate_min = 0;
  };
  std::optional<Plateau> plateau;
  bool keeps_best = false;  // The best version is the final model.

  bool IsWanted() const { return patience > 0 || plateau.has_value() || keeps_best; }
};

struct Best {
  Version version;
  double value = 0;
  friend bool operator==(const Best&, const Best&) = default;
};

// Whether `value` is better; anything finite is, than nothing, and what is not finite never.
bool IsBetter(const JudgingOptions& options, double value, const std::optional<Best>& best);

// What evaluations have come to. A checkpoint has it: who goes back forgets what came after.
struct Judged {
  std::optional<Best> best;
  uint32_t without_better = 0;         // Evaluations since, in a row...
  uint32_t without_better_or_cut = 0;  // ...and since the last cut.
  uint32_t cuts = 0;                   // Of the learning rate.

  // Of one version, once. A result that has no such number counts for nothing.
  void See(const JudgingOptions& options, const protocol::Evaluated& result);
  // The rate in the place of `rate`, which a warm-up may still hold below `rate_min`.
  double Cut(const std::optional<JudgingOptions::Plateau>& plateau, double rate) const;
  friend bool operator==(const Judged&, const Judged&) = default;
};

}  // namespace paceline::coordination
