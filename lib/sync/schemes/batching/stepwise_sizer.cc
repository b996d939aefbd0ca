#include "lib/sync/schemes/batching/stepwise_sizer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/time.h"
#include "lib/sync/schemes/batching/min_max.h"
#include "lib/sync/schemes/batching/saved_sizing.h"
#include "lib/sync/schemes/batching/spread.h"

namespace paceline::sync {
namespace {

constexpr double kFirstStep = 0.05;       // Of the mean share.
constexpr uint32_t kLooksAfterRapid = 2;  // With fine changes only.
constexpr uint32_t kPeriodsMax = 4;       // Times the first period.
constexpr double kMemoryReserve = 1.25;   // Times what more samples are thought to need.

}  // namespace

StepwiseSizer::StepwiseSizer(const Options& options)
    : options_(options),
      limits_(options.global_batch_size, {options.spec.batch_min, options.spec.batch_max}),
      period_(options.spec.period_steps) {}

void StepwiseSizer::Joined(WorkerId worker) {
  limits_.Joined(worker);
  Worker joined;
  if (auto known = known_.extract(worker); !known.empty()) joined.curve = std::move(known.mapped());
  workers_.insert_or_assign(worker, std::move(joined));
  must_change_ = true;
}

void StepwiseSizer::Left(WorkerId worker) {
  auto left = workers_.extract(worker);
  if (left.empty()) return;
  if (left.mapped().curve.is_known())
    known_.insert_or_assign(worker, std::move(left.mapped().curve));
  limits_.Left(worker);
  must_change_ = true;
}

void StepwiseSizer::Arrived(const PushArrived& push) {
  const auto found = workers_.find(push.worker);
  if (found == workers_.end()) return;
  Worker& worker = found->second;
  if (push.signals.memory_available) {
    worker.memory = push.signals.memory_available;
    worker.memory_most = std::max(worker.memory_most.value_or(0), *worker.memory);
  }
  // What was leased may be less than what was given, or given before the last change.
  const uint32_t steps = std::max(push.steps, 1u);
  if (push.samples != worker.share * steps || push.timing.compute <= Duration{}) return;
  if (worker.to_skip > 0) {
    --worker.to_skip;
    return;
  }
  ++worker.times;
  worker.seconds += ToSeconds(push.timing.compute) / steps;
}

void StepwiseSizer::RanOutOfMemory(WorkerId worker, uint32_t samples_fit) {
  limits_.Learn(worker, samples_fit);
  must_change_ = true;
  ++out_of_memory_;
}

std::vector<uint32_t> StepwiseSizer::ShareOut(const std::vector<WorkerId>& workers) {
  if (must_change_ || workers != sharing_) {
    BeginAnew(workers);
  } else if (IsLookDue(workers)) {
    Look(workers, limits_.For(workers));
  }
  std::vector<uint32_t> shares;
  shares.reserve(workers.size());
  for (const WorkerId worker : workers) shares.push_back(workers_.at(worker).share);
  return shares;
}

// By their curves where all have one. Else as before where it can be: newcomers get a mean share,
// and all give to or take from it in proportion.
void StepwiseSizer::BeginAnew(const std::vector<WorkerId>& workers) {
  double sum = 0, known = 0;
  for (const WorkerId worker : workers) {
    const uint32_t share = workers_.at(worker).share;
    sum += share;
    known += share > 0;
  }
  std::vector<double> weights;
  for (const WorkerId worker : workers) {
    const uint32_t share = workers_.at(worker).share;
    weights.push_back(share > 0 || known == 0 ? share : sum / known);
  }
  const BatchLimits::Fit fit = limits_.For(workers);
  const auto curves = workers.empty() ? std::nullopt : Curves(workers);
  const std::vector<uint32_t> shares =
      curves ? ShareToFinishTogether(std::span<const TimeCurve>(*curves), fit.total, fit.bounds)
             : Apportion(weights, fit.total, fit.bounds);
  for (size_t i = 0; i < workers.size(); ++i) Give(workers[i], shares[i]);
  for (auto& [id, worker] : workers_) worker.times = 0, worker.seconds = 0;
  sharing_ = workers;
  step_samples_ = fit.total;
  step_ = FirstStep(workers.size());
  period_ = options_.spec.period_steps;
  steps_ = 0;
  must_change_ = false;
  last_move_.reset();
}

uint32_t StepwiseSizer::FirstStep(size_t workers) const {
  const double mean_share = static_cast<double>(step_samples_) / static_cast<double>(workers);
  return std::max<uint32_t>(1, static_cast<uint32_t>(std::lround(kFirstStep * mean_share)));
}

bool StepwiseSizer::IsLookDue(const std::vector<WorkerId>& workers) const {
  return steps_ >= period_ && std::all_of(workers.begin(), workers.end(), [&](WorkerId worker) {
           return workers_.at(worker).times > 0;
         });
}

void StepwiseSizer::Look(const std::vector<WorkerId>& workers, const BatchLimits::Fit& fit) {
  SpreadOfTimes spread;
  for (const WorkerId id : workers) {
    Worker& worker = workers_.at(id);
    const double mean = worker.seconds / worker.times;
    spread.Add(mean);
    worker.curve.Add(worker.share, mean, worker.times);
    worker.mean = mean;
    worker.mean_share = worker.share;
    worker.times = 0;
    worker.seconds = 0;
  }
  spread_ = spread.OfMean();
  steps_ = 0;
  if (fine_only_ > 0) --fine_only_;
  if (spread_ < options_.spec.dead_band) return;
  if (spread_ > options_.spec.rapid) {
    step_ = FirstStep(workers.size());
    period_ = options_.spec.period_steps;
    if (fine_only_ == 0 && Rapid(workers, fit)) return;
  }
  Fine(workers, fit);
}

// Of each worker; none unless everybody's is known.
std::optional<std::vector<TimeCurve>> StepwiseSizer::Curves(
    const std::vector<WorkerId>& workers) const {
  std::vector<TimeCurve> curves;
  curves.reserve(workers.size());
  for (const WorkerId id : workers) {
    const Worker& worker = workers_.at(id);
    if (!worker.curve.is_known()) return std::nullopt;
    curves.push_back(worker.mean_share > 0 ? worker.curve.FitThrough(worker.mean_share, worker.mean)
                                           : worker.curve.Fit());
  }
  return curves;
}

// After a look, so that everybody's curve is known. Says whether it has changed anything: it has
// not if the slowest would not be faster by more than what nobody minds.
bool StepwiseSizer::Rapid(const std::vector<WorkerId>& workers, const BatchLimits::Fit& fit) {
  const std::vector<TimeCurve> curves = *Curves(workers);
  const std::vector<uint32_t> shares =
      ShareToFinishTogether(std::span<const TimeCurve>(curves), fit.total, fit.bounds);
  double slowest = 0, expected = 0;
  for (size_t i = 0; i < workers.size(); ++i) {
    slowest = std::max(slowest, workers_.at(workers[i]).mean);
    expected = std::max(expected, curves[i](shares[i]));
  }
  if (expected > (1 - options_.spec.dead_band) * slowest) return false;
  for (size_t i = 0; i < workers.size(); ++i) Give(workers[i], shares[i]);
  fine_only_ = kLooksAfterRapid + 1;
  last_move_.reset();
  ++rapid_;
  return true;
}

void StepwiseSizer::Fine(const std::vector<WorkerId>& workers, const BatchLimits::Fit& fit) {
  const auto find = [&](const auto& may, const auto& is_better) -> std::optional<WorkerId> {
    std::optional<WorkerId> best;
    for (size_t i = 0; i < workers.size(); ++i) {
      const Worker& worker = workers_.at(workers[i]);
      if (!may(worker, fit.bounds[i])) continue;
      if (!best || is_better(worker.mean, workers_.at(*best).mean)) best = workers[i];
    }
    return best;
  };
  const auto find_slowest = [&](uint32_t step) {
    return find([&](const Worker& w, const Bounds& b) { return w.share >= uint64_t{b.lo} + step; },
                std::greater<>());
  };
  const auto find_fastest = [&](uint32_t step) {
    return find(
        [&](const Worker& w, const Bounds& b) {
          return uint64_t{w.share} + step <= b.hi && HasMemoryFor(w, step);
        },
        std::less<>());
  };
  const std::optional<WorkerId> slowest = find_slowest(step_), fastest = find_fastest(step_);
  if (!slowest || !fastest) return;
  Worker &from = workers_.at(*slowest), &to = workers_.at(*fastest);
  if (from.mean <= to.mean || from.curve.IsFlatAt(from.share)) return;
  ++fine_;
  if (last_move_ == Pair{*fastest, *slowest}) {
    step_ = std::max<uint32_t>(1, step_ / 2);
    period_ = std::min(kPeriodsMax * options_.spec.period_steps, 2 * period_);
    ++oscillations_;
  }
  last_move_ = Pair{*slowest, *fastest};
  Give(*slowest, from.share - step_);
  Give(*fastest, to.share + step_);
}

// What samples need is judged by what those at hand have taken: an upper bound, since the model and
// its optimizer are in it.
bool StepwiseSizer::HasMemoryFor(const Worker& worker, uint32_t more) const {
  if (!worker.memory || worker.share == 0) return true;
  const double per_sample = (*worker.memory_most - *worker.memory) / worker.share;
  return *worker.memory >= kMemoryReserve * per_sample * more;
}

void StepwiseSizer::Give(WorkerId id, uint32_t share) {
  Worker& worker = workers_.at(id);
  if (worker.share == share) return;
  worker.share = share;
  worker.to_skip = 1;
}

std::string StepwiseSizer::Save() const {
  std::map<WorkerId, const MeasuredCurve*> all;
  for (const auto& [id, curve] : known_) all[id] = &curve;
  for (const auto& [id, worker] : workers_) all[id] = &worker.curve;
  std::string text;
  for (const auto& [id, curve] : all) {
    if (curve->is_known()) text += FormatLearntCurve(id, curve->sizes()) + "\n";
  }
  return text + limits_.Save() + others_;
}

Status StepwiseSizer::Restore(std::string_view saved) {
  PACELINE_ASSIGN_OR_RETURN(SavedSizing sorted, SortSaved(saved));
  PACELINE_RETURN_IF_ERROR(limits_.Restore(sorted.limits));
  for (std::string_view lines = sorted.curves; !lines.empty();) {
    PACELINE_ASSIGN_OR_RETURN(LearntCurve learnt, ParseLearntCurve(TakeLine(lines)));
    known_[learnt.worker].Restore(std::move(learnt.sizes));
  }
  others_ = std::move(sorted.speeds);
  return OkStatus();
}

void StepwiseSizer::Tell(std::vector<Figure>& figures) const {
  for (const auto& [id, worker] : workers_) {
    const std::string name = ToString(id);
    figures.push_back({&kWorkerBatchSize, static_cast<double>(worker.share), name});
    if (worker.mean > 0) figures.push_back({&kWorkerSpeed, worker.mean_share / worker.mean, name});
  }
  figures.push_back({&kStragglerEffect, spread_});
  figures.push_back({&kGlobalBatch, static_cast<double>(step_samples_)});
  figures.push_back({&kBatchStep, static_cast<double>(step_)});
  figures.push_back({&kBatchAdjustments, static_cast<double>(fine_), "fine"});
  figures.push_back({&kBatchAdjustments, static_cast<double>(rapid_), "rapid"});
  figures.push_back({&kBatchAdjustments, static_cast<double>(oscillations_), "oscillation"});
  figures.push_back({&kBatchAdjustments, static_cast<double>(out_of_memory_), "oom"});
}

std::string StepwiseSizer::DebugString() const {
  std::string text = fmt::format("{} {}{} {}/{} {}", step_samples_, steps_, must_change_, step_,
                                 period_, fine_only_) +
                     limits_.DebugString();
  if (sharing_.size() < workers_.size()) text += fmt::format(" for {}", fmt::join(sharing_, " "));
  if (last_move_) text += fmt::format(" {}>{}", last_move_->first, last_move_->second);
  for (const auto& [id, worker] : workers_) {
    text +=
        fmt::format(" {}={},{},{},{}", id, worker.share, worker.to_skip, worker.times, worker.mean);
    text += worker.curve.DebugString();
  }
  for (const auto& [id, curve] : known_) text += fmt::format(" once {}{}", id, curve.DebugString());
  return text;
}

}  // namespace paceline::sync
