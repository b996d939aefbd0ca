#include "lib/sync/schemes/auto/shadow.h"

#include <algorithm>
#include <cstddef>

#include "lib/sync/schemes/auto/step_times.h"

namespace paceline::sync {
namespace {

constexpr size_t kRounds = 32;
constexpr size_t kRoundsMin = 4;
constexpr size_t kDrawsMax = 1 << 16;  // Of all workers in all rounds.
constexpr double kShadowSecondsMin = 1e-9;
constexpr size_t kApart = 7;  // Places between the beginnings of two workers.

size_t RoundsOf(size_t workers) {
  return std::clamp(kDrawsMax / std::max<size_t>(workers, 1), kRoundsMin, kRounds);
}

double Draw(const ShadowWorker& worker, size_t turn, const ShadowRounds& rounds) {
  // A clock that stands still is no infinite speed.
  return std::max(rounds.communication + rounds.samples * worker.times->At(turn, worker.age),
                  kShadowSecondsMin);
}

std::vector<double> WithInterrupts(std::span<const ShadowWorker> workers,
                                   const ShadowRounds& rounds, std::span<const uint32_t> ks) {
  const size_t count = RoundsOf(workers.size());
  std::vector<double> sums(ks.size()), times(workers.size());
  for (size_t round = 0; round < count; ++round) {
    for (size_t i = 0; i < workers.size(); ++i)
      times[i] = Draw(workers[i], round + kApart * i, rounds);
    std::sort(times.begin(), times.end());
    for (size_t at = 0; at < ks.size(); ++at) sums[at] += times[ks[at] - 1];
  }
  for (double& sum : sums) sum /= static_cast<double>(count);
  return sums;
}

// One k, with workers that finish what they began.
double WithLateWorkers(std::span<const ShadowWorker> workers, const ShadowRounds& rounds,
                       uint32_t k) {
  struct Seat {
    size_t turn;
    double until = 0;      // When the running step ends...
    bool is_late = false;  // ...and whether it is of a round before.
  };
  std::vector<Seat> seats;
  for (size_t i = 0; i < workers.size(); ++i) seats.push_back({kApart * i});
  std::vector<double> ends(workers.size()), sorted(workers.size());
  const size_t count = RoundsOf(workers.size()), left_out = count / 4;
  double now = 0, begin = 0;
  for (size_t round = 0; round < count; ++round) {
    if (round == left_out) begin = now;
    for (size_t i = 0; i < workers.size(); ++i) {
      const double from = seats[i].is_late ? seats[i].until : now;
      sorted[i] = ends[i] = from + Draw(workers[i], seats[i].turn, rounds);
    }
    std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end());
    const double end = sorted[k - 1];
    for (size_t i = 0; i < workers.size(); ++i) {
      Seat& seat = seats[i];
      if (seat.is_late && seat.until > end) continue;  // Still at it.
      ++seat.turn;
      seat.is_late = ends[i] > end;
      seat.until = ends[i];
    }
    now = end;
  }
  return (now - begin) / static_cast<double>(count - left_out);
}

}  // namespace

std::vector<double> StepSeconds(std::span<const ShadowWorker> workers, const ShadowRounds& rounds,
                                std::span<const uint32_t> ks) {
  if (rounds.are_late_interrupted) return WithInterrupts(workers, rounds, ks);
  std::vector<double> seconds;
  for (const uint32_t k : ks) seconds.push_back(WithLateWorkers(workers, rounds, k));
  return seconds;
}

}  // namespace paceline::sync
