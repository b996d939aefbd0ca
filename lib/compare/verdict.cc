#include "lib/compare/verdict.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace paceline::compare {
namespace {

constexpr size_t kRunsMin = 2;

// Of the runs that count; one that missed the goal took for ever.
std::vector<double> Times(const std::vector<ArmRun>& runs, const std::string& scheme) {
  std::vector<double> times;
  for (const ArmRun& run : runs) {
    if (run.scheme != scheme || !run.counts()) continue;
    times.push_back(run.reached && run.seconds_to_target ? *run.seconds_to_target
                                                         : std::numeric_limits<double>::infinity());
  }
  std::ranges::sort(times);
  return times;
}

}  // namespace

std::vector<std::string> ArmsOf(const std::vector<ArmRun>& runs) {
  std::vector<std::string> arms;
  for (const ArmRun& run : runs) {
    if (std::ranges::find(arms, run.scheme) == arms.end()) arms.push_back(run.scheme);
  }
  return arms;
}

Range SecondsToTarget(const std::vector<ArmRun>& runs, const std::string& scheme) {
  std::vector<double> times = Times(runs, scheme);
  std::erase(times, std::numeric_limits<double>::infinity());
  if (times.empty()) return {};
  return {times.front(), Median(times), times.back(), times.size()};
}

const char* ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kOverlap:
      return "no win: ranges overlap";
    case Verdict::kTooFewRuns:
      return "too few runs";
  }
  return "";
}

Verdict Judge(const std::vector<ArmRun>& runs, const std::string& arm, const std::string& other) {
  const std::vector<double> ours = Times(runs, arm);
  const std::vector<double> theirs = Times(runs, other);
  if (ours.size() < kRunsMin || theirs.size() < kRunsMin) return Verdict::kTooFewRuns;
  if (ours.back() < theirs.front()) return Verdict::kFaster;
  if (theirs.back() < ours.front()) return Verdict::kSlower;
  return Verdict::kOverlap;
}

std::string WinnerInWords(const std::vector<ArmRun>& runs) {
  const std::vector<std::string> arms = ArmsOf(runs);
  if (arms.size() < 2) return "nothing to compare: one arm";
  const auto median = [&](const std::string& arm) {
    const std::vector<double> times = Times(runs, arm);
    return times.empty() ? std::numeric_limits<double>::infinity() : Median(times);
  };
  const std::string best = *std::ranges::min_element(arms, {}, median);
  for (const std::string& other : arms) {
    if (other == best) continue;
    const Verdict verdict = Judge(runs, best, other);
    if (verdict == Verdict::kTooFewRuns)
      return fmt::format("no winner: too few runs of {} or {} that count", best, other);
    if (verdict != Verdict::kFaster)
      return fmt::format("no winner: the ranges of {} and {} overlap", best, other);
  }
  const Range range = SecondsToTarget(runs, best);
  return fmt::format("{} wins: each of its {} runs was faster than every run of the others", best,
                     range.runs);
}

}  // namespace paceline::compare
