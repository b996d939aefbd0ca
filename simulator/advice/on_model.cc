#include "simulator/advice/on_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace paceline::simulator {
namespace {

// Of an arm, other rates are tried with so many seeds.
constexpr uint32_t kSeedsSearching = 3;
constexpr double kGiveUpTimes = 1.5;
// Of the seconds that were granted, at most.
constexpr double kOverrun = 1.5;

// About as many as Try has: at the job's rate, at two others, and at the best of them.
double LivesOfArm(uint32_t seeds) { return 2.0 * seeds + 2.0 * kSeedsSearching; }

// How long a life of the recorded arm takes. DeadlineExceeded where two arms would not be done.
StatusOr<double> SecondsOfALife(const OwnModel& model, ClusterOptions cluster,
                                const OnModelOptions& options) {
  const double longest = options.seconds / (2 * LivesOfArm(kSeedsLeast));
  const double began = options.now();
  TimedObjective timed(*model.objective, options.now, began + longest);
  cluster.model = &timed;
  const StatusOr<Life> life = Simulate(cluster);
  if (life.ok()) return options.now() - began;
  if (life.status().code() != StatusCode::kDeadlineExceeded) return life.status();
  return DeadlineExceeded(
      "a life of the recorded scheme on it takes more than {:.2g} s, too long for --model-seconds "
      "{:g}",
      longest, options.seconds);
}

uint32_t SeedsFor(double life_seconds, size_t arms, const OnModelOptions& options) {
  const double lives = options.seconds / (std::max(life_seconds, 1e-9) * static_cast<double>(arms));
  const double seeds = std::floor((lives - LivesOfArm(0)) / (LivesOfArm(1) - LivesOfArm(0)));
  const double least = std::min(kSeedsLeast, options.seeds_max);
  return static_cast<uint32_t>(std::clamp<double>(seeds, least, options.seeds_max));
}

// The recorded one first, then as they are worth a trial.
std::vector<TriedArm> Chosen(const std::vector<TriedArm>& arms, const Advice& screened) {
  std::vector<TriedArm> chosen;
  const auto add = [&](auto is_wanted) {
    const auto found = std::ranges::find_if(arms, is_wanted);
    if (found != arms.end()) chosen.push_back({found->candidate, found->is_recorded, {}});
  };
  add([](const TriedArm& arm) { return arm.is_recorded; });
  for (const std::string& name : WorthATrial(screened))
    add([&](const TriedArm& arm) { return arm.candidate.name == name; });
  return chosen;
}

}  // namespace

std::vector<std::string> WorthATrial(const Advice& screened) {
  std::vector<std::string> names;
  const auto add = [&names](const ArmAdvice& arm) {
    if (std::ranges::find(names, arm.name) == names.end()) names.push_back(arm.name);
  };
  const auto may_be_advised = [](const ArmAdvice& arm) {
    return !arm.is_recorded && !arm.is_risky && !arm.is_refused;
  };
  for (const ArmAdvice& arm : screened.arms) {
    if (names.size() < kFavourites && may_be_advised(arm) && arm.SureGain()) add(arm);
  }
  for (const std::string_view beginning : {"auto", "dbw"}) {
    const auto best = std::ranges::find_if(screened.arms, [&](const ArmAdvice& arm) {
      return may_be_advised(arm) && arm.name.starts_with(beginning);
    });
    if (best != screened.arms.end()) add(*best);
  }
  return names;
}

StatusOr<OnModel> TryOnModel(const OwnModel& model, const ClusterOptions& cluster,
                             double recorded_seconds, const std::vector<TriedArm>& arms,
                             const Advice& screened, const OnModelOptions& options) {
  ClusterOptions with = ClusterWith(model, cluster, recorded_seconds);
  std::vector<TriedArm> chosen = Chosen(arms, screened);
  const double began = options.now();
  with.policy = chosen.front().candidate.policy;
  PACELINE_ASSIGN_OR_RETURN(const double life_seconds, SecondsOfALife(model, with, options));
  OnModel found{.setting = model.setting,
                .look_seconds = with.loss_every_seconds,
                .seeds = SeedsFor(life_seconds, chosen.size(), options)};
  const TryOptions trying{
      .seeds = found.seeds, .seeds_searching = kSeedsSearching, .give_up_times = kGiveUpTimes};
  TimedObjective timed(*model.objective, options.now, began + kOverrun * options.seconds);
  with.model = &timed;
  PACELINE_ASSIGN_OR_RETURN(
      TriedArms done, TryArms(std::move(chosen), with, trying, " on the model", options.on_arm));
  found.left_out = std::move(done.left_out);
  if (done.tried.size() < 2 && !found.left_out.empty())
    return FailedPrecondition("no other scheme was done on it: {}", found.left_out.front().reason);
  found.advice = Judge(done.tried, model.setting.momentum > 0, AtBest::kMedian, options.still);
  return found;
}

}  // namespace paceline::simulator
