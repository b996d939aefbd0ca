#include "lib/sync/schemes/batching/speed_sizer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/time.h"
#include "lib/sync/schemes/batching/learnt_speed.h"
#include "lib/sync/schemes/batching/saved_sizing.h"
#include "lib/sync/schemes/batching/spread.h"

namespace paceline::sync {
namespace {

// What one minibatch costs of a Spare's budget: some 40 microseconds, of which a budget of 64 may
// hold a push up for less than a millisecond.
constexpr uint32_t kTrainingCost = 4;

}  // namespace

SpeedSizer::SpeedSizer(const Options& options)
    : options_(options),
      limits_(options.global_batch_size, {options.spec.batch_min, options.spec.batch_max}) {}

SpeedSizer::Worker SpeedSizer::NewWorker(WorkerId worker) const {
  return Worker({.newest_weight = options_.spec.newest_weight,
                 .has_network = options_.spec.strategy == Sizing::kNarx,
                 .seed = worker.value()});
}

bool SpeedSizer::IsDue(const Worker& worker) {
  const Narx* const network = worker.predictor.network();
  return network != nullptr && network->trainings_due() > 0;
}

void SpeedSizer::Joined(WorkerId worker) {
  limits_.Joined(worker);
  Worker joined = NewWorker(worker);
  if (auto known = known_.extract(worker); !known.empty())
    joined.predictor = std::move(known.mapped());
  if (IsDue(joined)) due_.push_back(worker);
  workers_.insert_or_assign(worker, std::move(joined));
  must_change_ = true;
}

void SpeedSizer::Left(WorkerId worker) {
  auto left = workers_.extract(worker);
  if (left.empty()) return;
  known_.insert_or_assign(worker, std::move(left.mapped().predictor));
  limits_.Left(worker);
  std::erase(due_, worker);
  must_change_ = true;
}

void SpeedSizer::Arrived(const PushArrived& push) {
  const auto found = workers_.find(push.worker);
  if (found == workers_.end()) return;
  Worker& worker = found->second;
  const double seconds = ToSeconds(push.timing.compute);
  // The rest of an epoch may be a few samples, whose time says little of more.
  if (push.samples == 0 || seconds <= 0 || push.samples < worker.share / 2) return;
  if (!std::exchange(worker.is_warm, true)) return;
  worker.compute_seconds = seconds;
  const bool was_due = IsDue(worker);
  worker.predictor.Measured(push.samples / seconds, push.signals);
  if (!was_due && IsDue(worker)) due_.push_back(push.worker);
}

void SpeedSizer::RanOutOfMemory(WorkerId worker, uint32_t samples_fit) {
  limits_.Learn(worker, samples_fit);
  must_change_ = true;
  ++out_of_memory_;
}

void SpeedSizer::StepClosed() {
  ++steps_since_change_;
  is_published_ = false;
}

std::vector<uint32_t> SpeedSizer::ShareOut(const std::vector<WorkerId>& workers) {
  std::vector<uint32_t> shares;
  must_change_ |= workers != sharing_;
  if (!must_change_ && steps_since_change_ < options_.period_steps) {
    for (const WorkerId worker : workers) shares.push_back(workers_.at(worker).share);
    return shares;
  }
  double sum = 0, known = 0;
  std::vector<double> speeds;
  speeds.reserve(workers.size());
  for (const WorkerId worker : workers) {
    const double speed = workers_.at(worker).predictor.predicted();
    speeds.push_back(speed);
    sum += speed;
    known += speed > 0;
  }
  for (double& speed : speeds) {
    if (speed <= 0 && known > 0) speed = sum / known;
  }
  const BatchLimits::Fit fit = limits_.For(workers);
  shares = Apportion(speeds, fit.total, fit.bounds, Leftovers::kFirstDone);
  bool is_other = false;
  for (size_t i = 0; i < workers.size(); ++i) {
    uint32_t& share = workers_.at(workers[i]).share;
    is_other |= std::exchange(share, shares[i]) != shares[i];
  }
  adjustments_ += is_other && step_samples_ > 0;
  sharing_ = workers;
  step_samples_ = fit.total;
  steps_since_change_ = 0;
  must_change_ = false;
  return shares;
}

// One minibatch each in turn, from where the last budget ended: a budget that never suffices
// starves nobody, and one that does trains everybody alike, since no network depends on another.
void SpeedSizer::UseSpare(uint32_t budget) {
  for (; budget >= kTrainingCost && !due_.empty(); budget -= kTrainingCost) {
    const WorkerId next = due_.front();
    due_.pop_front();
    Worker& worker = workers_.at(next);
    worker.predictor.network()->Train();
    if (IsDue(worker)) due_.push_back(next);
  }
}

void SpeedSizer::Tell(std::vector<Figure>& figures) const {
  SpreadOfTimes spread;
  for (const auto& [id, worker] : workers_) {
    const std::string name = ToString(id);
    const SpeedPredictor& predictor = worker.predictor;
    figures.push_back({&kWorkerBatchSize, static_cast<double>(worker.share), name});
    if (!predictor.is_known()) continue;
    spread.Add(worker.compute_seconds);
    figures.push_back({&kWorkerSpeed, predictor.measured(), name});
    figures.push_back({&kWorkerSpeedPredicted, predictor.predicted(), name});
    figures.push_back({&kMeanError, predictor.mean_error(), name});
    if (predictor.network() == nullptr) continue;
    figures.push_back({&kNarxError, predictor.network_error(), name});
    figures.push_back({&kNarxInUse, predictor.uses_network() ? 1.0 : 0.0, name});
  }
  figures.push_back({&kStragglerEffect, spread.OfMean()});
  figures.push_back({&kGlobalBatch, static_cast<double>(step_samples_)});
  figures.push_back({&kBatchAdjustments, static_cast<double>(adjustments_), "speed"});
  figures.push_back({&kBatchAdjustments, static_cast<double>(out_of_memory_), "oom"});
}

std::string SpeedSizer::Save() const {
  std::map<WorkerId, const SpeedPredictor*> all;
  for (const auto& [id, predictor] : known_) all[id] = &predictor;
  for (const auto& [id, worker] : workers_) all[id] = &worker.predictor;
  std::string text;
  for (const auto& [id, predictor] : all) {
    if (predictor->is_known()) text += FormatLearnt(id, *predictor) + "\n";
  }
  return text + limits_.Save() + others_;
}

Status SpeedSizer::Restore(std::string_view saved) {
  PACELINE_ASSIGN_OR_RETURN(SavedSizing sorted, SortSaved(saved));
  PACELINE_RETURN_IF_ERROR(limits_.Restore(sorted.limits));
  for (std::string_view lines = sorted.speeds; !lines.empty();) {
    PACELINE_ASSIGN_OR_RETURN(const LearntSpeed learnt, ParseLearnt(TakeLine(lines)));
    SpeedPredictor predictor = NewWorker(learnt.worker).predictor;
    predictor.Restore(learnt.mean, learnt.network);
    known_.insert_or_assign(learnt.worker, std::move(predictor));
  }
  others_ = std::move(sorted.curves);
  return OkStatus();
}

std::string SpeedSizer::DebugString() const {
  std::string text =
      fmt::format("{} {}{}{}", step_samples_, steps_since_change_, must_change_, is_published_) +
      limits_.DebugString();
  for (const auto& [id, worker] : workers_) {
    text +=
        fmt::format(" {}={},{},{}", id, worker.share, worker.is_warm, worker.predictor.predicted());
  }
  if (sharing_.size() < workers_.size()) text += fmt::format(" for {}", fmt::join(sharing_, " "));
  if (!due_.empty()) text += fmt::format(" due {}", fmt::join(due_, " "));
  return text;
}

}  // namespace paceline::sync
