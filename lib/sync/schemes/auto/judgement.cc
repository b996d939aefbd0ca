#include "lib/sync/schemes/auto/judgement.h"

#include <algorithm>
#include <cmath>

#include "lib/sync/schemes/auto/step_times.h"
#include "lib/sync/schemes/estimates/rank_grid.h"

namespace paceline::sync {
namespace {

constexpr double kOtherK = 1.1;       // Another k has to be so much better...
constexpr double kLeave = 1.08;       // ...no barrier so much than the best one, and...
constexpr double kStayAway = 1.03;    // ...still so much once there is none.
constexpr double kSecondsMin = 1e-9;  // A clock that stands still is no infinite speed.

size_t PlaceOf(const std::vector<uint32_t>& ks, uint32_t k) {
  const auto found = std::lower_bound(ks.begin(), ks.end(), k);
  return k == 0 || found == ks.end() ? ks.size() - 1 : static_cast<size_t>(found - ks.begin());
}

}  // namespace

uint32_t LeastBarrier(uint32_t workers) {
  const uint32_t half = std::max((workers + 1) / 2, 1u);
  return std::max((workers + 3) / 4, std::min(half, 2u));
}

uint32_t PushesOfAsync(uint32_t workers) {
  return std::max(2u, static_cast<uint32_t>(std::lround(workers / 4.0)));
}

double WorthOf(const AutoChoice& choice, const NoiseScale& noise, uint32_t workers, double trust) {
  if (choice.way == Way::kAsync) return trust * noise.Gain(workers, workers);
  const uint32_t k = choice.k == 0 ? workers : std::min(choice.k, workers);
  return noise.GainAt(noise.LengthScale(double(k) / workers), k, workers);
}

double Estimates::SecondsOf(uint32_t k) const { return seconds[PlaceOf(ks, k)]; }

double Estimates::ProgressOf(const AutoChoice& choice) const {
  return choice.way == Way::kAsync ? async_progress : progress[PlaceOf(ks, choice.k)];
}

Estimates Estimate(std::span<const ShadowWorker> workers, const ShadowRounds& rounds,
                   const AsyncTerms& async, const NoiseScale& noise, double foresight) {
  const auto count = static_cast<uint32_t>(workers.size());
  Estimates estimates;
  const RankGrid grid(count);
  for (uint32_t cell = 0; cell < grid.cells(); ++cell) {
    if (grid.LastRank(cell) >= LeastBarrier(count)) estimates.ks.push_back(grid.LastRank(cell));
  }
  estimates.seconds = StepSeconds(workers, rounds, estimates.ks);
  for (size_t i = 0; i < estimates.ks.size(); ++i) {
    const uint32_t k = estimates.ks[i];
    const double worth = WorthOf({Way::kBarrier, k}, noise, count, 1);
    estimates.progress.push_back((k < count ? foresight : 1) * worth / estimates.seconds[i]);
  }
  double pushes_a_second = 0;
  for (const ShadowWorker& worker : workers)
    pushes_a_second +=
        1 / std::max(async.communication + rounds.samples * worker.times->Mean(worker.age),
                     kSecondsMin);
  estimates.sweep_seconds = count / pushes_a_second;
  estimates.async_progress =
      WorthOf({Way::kAsync, 0}, noise, count, async.trust) / estimates.sweep_seconds;
  return estimates;
}

AutoChoice Best(const Estimates& estimates, const AutoChoice& present) {
  const size_t last = estimates.ks.size() - 1;
  const bool is_barrier = present.way == Way::kBarrier;
  const size_t here = is_barrier ? PlaceOf(estimates.ks, present.k) : last + 1;
  size_t best = last;
  double most = 0;
  // Of equals the largest: its gradient is the better one.
  for (size_t at = last + 1; at-- > 0;) {
    const double progress = estimates.progress[at] * (at == here ? kOtherK : 1);
    if (progress <= most) continue;
    most = progress;
    best = at;
  }
  const bool may_be_async = estimates.async_progress > 0;
  const double margin = is_barrier ? kLeave : kStayAway;
  const bool is_faster = estimates.async_progress > most * margin;
  const auto workers = estimates.ks[last];
  if (may_be_async && is_faster) return {Way::kAsync, PushesOfAsync(workers)};
  return {Way::kBarrier, best == last ? 0 : estimates.ks[best]};
}

}  // namespace paceline::sync
