// Defines Advice: how much faster than a recorded scheme others were, of arms that were tried, and
// what may be advised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/advice/candidates.h"
#include "simulator/advice/trials.h"

namespace paceline::simulator {

// How many times as fast as the recorded scheme, seed by seed.
struct Gain {
  double low = 0, median = 0, high = 0;
};

// Of one arm at one rate.
struct Figures {
  double seconds = 0;        // Median, until the goal; of no meaning where a life failed.
  double step_seconds = 0;   // Median, of a version.
  uint32_t failed = 0;       // Lives that did not reach the goal.
  std::optional<Gain> gain;  // Absent where a life of it or of the recorded scheme failed.
};

struct ArmAdvice {
  std::string name;
  std::vector<std::string> lines;  // Of spec.sync; none of a recorded scheme that is no candidate.
  bool is_recorded = false;
  bool mixes_versions = false;
  bool interrupts = false;
  bool is_risky = false;  // It mixes versions, and the optimizer has momentum: not to be advised.
  Figures equal, best;    // At the job's rate, and each arm at the best of its own.
  double factor = 1;      // Its best rate by the job's.
  bool is_surely_faster = false;  // Than the recorded scheme, as Judge has it.
  // It is, and is not where workers do not hinder each other: not to be advised.
  bool is_refused = false;
  // Its SureGain there; absent where that was not tried, or a life of it failed.
  std::optional<Gain> still = std::nullopt;

  // The lesser of both, by medians: what does not hang on the rate. Absent where one of both is.
  std::optional<Gain> SureGain() const;
};

// What was tried of an arm, in the order of candidates; the recorded scheme is one of them.
struct TriedArm {
  Candidate candidate;
  bool is_recorded = false;
  Trials trials;
};

struct Advice {
  std::vector<ArmAdvice> arms;  // The fastest first, by SureGain; those that failed last.
  std::optional<size_t> best;   // Of arms; absent: none is surely faster than the recorded one.
  // Of arms that are not risky, those whose range meets the best one's.
  std::vector<std::string> as_good;
  const ArmAdvice& Recorded() const;
  // The fastest that is refused, if that comes before the best; null: there is none.
  const ArmAdvice* Refused() const;
  const ArmAdvice* Find(const std::string& name) const;  // Null: there is none.
};

// What simulated steps are off from live ones is not told as a gain.
inline constexpr double kGainMin = 1.05;

// What an arm is asked for where each has the best of its own rates.
enum class AtBest {
  kEverySeed,  // That it was faster with every seed.
  // That it was in the median: on a model rates that are as high as can be are on the edge, where
  // seeds differ by a factor of two. Enough, too, where another judgement is to be borne out.
  kMedian,
};

// An arm is surely faster if it was with every seed at the job's rate, as `at_best` says where each
// has its best, and by kGainMin in the median at both.
// The best is the one of the largest SureGain that is not risky and, where `still` is not null, is
// surely faster there, too: arms of the same names, judged where workers do not hinder each other.
Advice Judge(const std::vector<TriedArm>& tried, bool has_momentum,
             AtBest at_best = AtBest::kEverySeed, const Advice* still = nullptr);

}  // namespace paceline::simulator
