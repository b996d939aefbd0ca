#include "simulator/advice/judge.h"

#include <algorithm>
#include <utility>

namespace paceline::simulator {
namespace {

double Middle(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Figures FiguresOf(const std::vector<Outcome>& ours, const std::vector<Outcome>& recorded) {
  Figures figures;
  std::vector<double> seconds, steps, gains;
  for (size_t seed = 0; seed < ours.size(); ++seed) {
    seconds.push_back(ours[seed].seconds);
    steps.push_back(ours[seed].step_seconds);
    if (!ours[seed].reached()) ++figures.failed;
    if (ours[seed].reached() && recorded[seed].reached())
      gains.push_back(recorded[seed].seconds / ours[seed].seconds);
  }
  figures.seconds = Middle(seconds);
  figures.step_seconds = Middle(steps);
  if (gains.size() == ours.size()) {
    const auto [low, high] = std::ranges::minmax(gains);
    figures.gain = Gain{low, Middle(gains), high};
  }
  return figures;
}

ArmAdvice ArmOf(const TriedArm& tried, const Trials& recorded, bool has_momentum) {
  const Candidate& candidate = tried.candidate;
  return {.name = candidate.name,
          .lines = candidate.lines,
          .is_recorded = tried.is_recorded,
          .mixes_versions = candidate.mixes_versions,
          .interrupts = Interrupts(candidate.policy),
          .is_risky = has_momentum && candidate.mixes_versions,
          .equal = FiguresOf(tried.trials.equal, recorded.equal),
          .best = FiguresOf(tried.trials.best, recorded.best),
          .factor = tried.trials.factor};
}

double Rank(const ArmAdvice& arm) {
  const std::optional<Gain> gain = arm.SureGain();
  return gain ? gain->median : 0;
}

bool IsSurelyFaster(const ArmAdvice& arm, AtBest at_best) {
  if (!arm.equal.gain || !arm.best.gain || arm.SureGain()->median < kGainMin) return false;
  return arm.equal.gain->low > 1 && (at_best == AtBest::kMedian || arm.best.gain->low > 1);
}

void CompareWith(const Advice& still, ArmAdvice& arm) {
  const ArmAdvice* const there = still.Find(arm.name);
  if (there != nullptr) arm.still = there->SureGain();
  arm.is_refused = arm.is_surely_faster && (there == nullptr || !there->is_surely_faster);
}

}  // namespace

std::optional<Gain> ArmAdvice::SureGain() const {
  if (!equal.gain || !best.gain) return std::nullopt;
  return equal.gain->median <= best.gain->median ? equal.gain : best.gain;
}

const ArmAdvice& Advice::Recorded() const {
  return *std::ranges::find(arms, true, &ArmAdvice::is_recorded);
}

const ArmAdvice* Advice::Refused() const {
  const auto end = best ? arms.begin() + static_cast<ptrdiff_t>(*best) : arms.end();
  const auto found = std::find_if(
      arms.begin(), end, [](const ArmAdvice& arm) { return arm.is_refused && !arm.is_risky; });
  return found == end ? nullptr : &*found;
}

const ArmAdvice* Advice::Find(const std::string& name) const {
  const auto found = std::ranges::find(arms, name, &ArmAdvice::name);
  return found == arms.end() ? nullptr : &*found;
}

Advice Judge(const std::vector<TriedArm>& tried, bool has_momentum, AtBest at_best,
             const Advice* still) {
  const TriedArm& recorded = *std::ranges::find(tried, true, &TriedArm::is_recorded);
  Advice advice;
  for (const TriedArm& one : tried)
    advice.arms.push_back(ArmOf(one, recorded.trials, has_momentum));
  std::ranges::stable_sort(advice.arms, std::greater(), Rank);
  for (size_t i = 0; i < advice.arms.size(); ++i) {
    ArmAdvice& arm = advice.arms[i];
    arm.is_surely_faster = !arm.is_recorded && IsSurelyFaster(arm, at_best);
    if (still != nullptr) CompareWith(*still, arm);
    if (!arm.is_surely_faster || arm.is_risky || arm.is_refused) continue;
    if (!advice.best) {
      advice.best = i;
    } else if (arm.SureGain()->high >= advice.arms[*advice.best].SureGain()->low) {
      advice.as_good.push_back(arm.name);
    }
  }
  return advice;
}

}  // namespace paceline::simulator
