#include "ps-server/coordinator/worker_metrics.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/sync/contract/words.h"

namespace paceline::ps {
namespace {

using Labels = std::vector<std::string>;

const Labels kWorker = {"group", "worker"};

Labels LabelsOf(const protocol::Seat& seat) {
  return {seat.group.empty() ? "worker" : seat.group, ToString(seat)};
}

}  // namespace

struct WorkerMetrics::Families {
  explicit Families(telemetry::Metrics* metrics)
      : steps(metrics->Counters("paceline_worker_steps_total",
                                "Local steps that a worker has pushed.", kWorker)),
        samples(metrics->Counters("paceline_worker_samples_total",
                                  "Samples that a worker has pushed.", kWorker)),
        compute(metrics->Counters("paceline_worker_compute_seconds_total",
                                  "Time a worker spent in forward and backward passes.", kWorker)),
        wait(metrics->Counters("paceline_worker_wait_seconds_total",
                               "Time a worker had nothing to do but wait for a release.", kWorker)),
        communication(metrics->Counters(
            "paceline_worker_communication_seconds_total",
            "Time a worker spent pulling and pushing, not overlapped by computation.", kWorker)),
        overlapped(metrics->Counters("paceline_worker_overlapped_seconds_total",
                                     "Time a worker spent pulling and pushing while it computed.",
                                     kWorker)),
        injected(metrics->Counters("paceline_worker_injected_seconds_total",
                                   "Of the compute time, slept because spec.chaos says so.",
                                   kWorker)),
        step_seconds(metrics->Histograms("paceline_worker_compute_seconds",
                                         "Compute time of one push.",
                                         telemetry::ExponentialBuckets(1e-3, 2, 18), kWorker)),
        staleness(metrics->Histograms(
            "paceline_push_staleness",
            "Versions published between the one a push was computed on and its accumulation.",
            {0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128}, kWorker)),
        spread(
            metrics->Histograms("paceline_pull_spread",
                                "Versions that shards were apart in what a push was computed on.",
                                {0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128}, kWorker)),
        pushed_bytes(metrics->Counters("paceline_worker_pushed_bytes_total",
                                       "Bytes of gradients or deltas that a worker has pushed.",
                                       kWorker)),
        pulled_bytes(metrics->Counters("paceline_worker_pulled_bytes_total",
                                       "Bytes of parameters that a worker has pulled.", kWorker)),
        accepted(
            metrics->Counters("paceline_pushes_accepted_total", "Pushes that counted.", kWorker)),
        dropped(metrics->Counters("paceline_pushes_dropped_total",
                                  "Pushes that did not count, by reason.",
                                  {"group", "worker", "reason"})),
        wasted(metrics->Counters("paceline_wasted_compute_seconds_total",
                                 "Compute time of pushes that did not count.", kWorker)),
        nonfinite(metrics->Counters("paceline_pushes_nonfinite_total",
                                    "Pushes with a NaN or an infinity.", kWorker)),
        overflows(metrics->Counters("paceline_worker_overflows_total",
                                    "Steps given up because gradients overflowed under loss "
                                    "scaling.",
                                    kWorker)),
        loss_scale(metrics->Gauges("paceline_worker_loss_scale",
                                   "What a worker's loss is multiplied by for its backward pass.",
                                   kWorker)),
        threads(metrics->Gauges("paceline_worker_threads", "Threads that a worker computes with.",
                                kWorker)) {}

  telemetry::CounterFamily steps, samples, compute, wait, communication, overlapped, injected;
  telemetry::HistogramFamily step_seconds, staleness, spread;
  telemetry::CounterFamily pushed_bytes, pulled_bytes;
  telemetry::CounterFamily accepted, dropped, wasted, nonfinite, overflows;
  telemetry::GaugeFamily loss_scale, threads;
};

namespace {

// A series that is made when it is first needed: those of other workers are not there.
template <class S>
class Lazy {
 public:
  S& In(const telemetry::Family<S>& family, const Labels& labels) {
    if (!series_) series_ = family.With(labels);
    return *series_;
  }

 private:
  std::optional<S> series_;
};

}  // namespace

struct WorkerMetrics::Series {
  Labels labels;
  Lazy<telemetry::Counter> steps, samples, compute, wait, communication, overlapped, injected;
  Lazy<telemetry::Histogram> step_seconds, staleness, spread;
  Lazy<telemetry::Counter> pushed_bytes, pulled_bytes, accepted, wasted, nonfinite, overflows;
  Lazy<telemetry::Gauge> loss_scale, threads;
  std::map<sync::DropReason, telemetry::Counter> dropped;
  protocol::Traffic traffic;  // As it was counted last.
  uint64_t overflows_counted = 0;
};

WorkerMetrics::WorkerMetrics(telemetry::Metrics* metrics)
    : families_(std::make_unique<Families>(metrics)) {}
WorkerMetrics::~WorkerMetrics() = default;

WorkerMetrics::Series& WorkerMetrics::Of(WorkerId worker) {
  Series& own = series_[worker];
  if (own.labels.empty()) own.labels = LabelsOf({"", worker.value()});
  return own;
}

void WorkerMetrics::Joined(WorkerId worker, const protocol::Seat& seat) {
  series_[worker].labels = LabelsOf(seat);
}

void WorkerMetrics::Pushed(const sync::PushArrived& push) {
  const WorkerId worker = push.worker;
  const Families& all = *families_;
  Series& own = Of(worker);
  own.steps.In(all.steps, own.labels).Increment(push.steps);
  own.samples.In(all.samples, own.labels).Increment(push.samples);
  own.compute.In(all.compute, own.labels).Increment(ToSeconds(push.timing.compute));
  own.wait.In(all.wait, own.labels).Increment(ToSeconds(push.timing.wait));
  own.communication.In(all.communication, own.labels)
      .Increment(ToSeconds(push.timing.communication));
  own.overlapped.In(all.overlapped, own.labels).Increment(ToSeconds(push.timing.overlapped));
  // Other jobs do not have it.
  if (push.timing.injected > Duration::zero())
    own.injected.In(all.injected, own.labels).Increment(ToSeconds(push.timing.injected));
  own.spread.In(all.spread, own.labels).Observe(push.spread);
  own.step_seconds.In(all.step_seconds, own.labels).Observe(ToSeconds(push.timing.compute));
  if (!push.gradient.is_finite) own.nonfinite.In(all.nonfinite, own.labels).Increment();
}

void WorkerMetrics::Accepted(WorkerId worker, std::optional<uint64_t> staleness) {
  Series& own = Of(worker);
  own.accepted.In(families_->accepted, own.labels).Increment();
  if (staleness)
    own.staleness.In(families_->staleness, own.labels).Observe(static_cast<double>(*staleness));
}

void WorkerMetrics::Dropped(WorkerId worker, sync::DropReason reason,
                            std::optional<Duration> compute) {
  Series& own = Of(worker);
  auto found = own.dropped.find(reason);
  if (found == own.dropped.end()) {
    const auto series = families_->dropped.With(
        {own.labels.front(), own.labels.back(), std::string(ToString(reason))});
    found = own.dropped.emplace(reason, series).first;
  }
  found->second.Increment();
  if (compute) own.wasted.In(families_->wasted, own.labels).Increment(ToSeconds(*compute));
}

void WorkerMetrics::Is(const coordination::WorkerStatus& status) {
  const WorkerId worker = status.worker;
  const protocol::Traffic& traffic = status.traffic;
  // One that a checkpoint knows has not joined yet, and its series keep the names they begin with.
  if (!status.seat.group.empty() && !series_.contains(worker)) Joined(worker, status.seat);
  Series& own = Of(worker);
  const auto count = [](telemetry::Counter& series, uint64_t was, uint64_t is) {
    // A generation that begins anew counts from 0.
    series.Increment(static_cast<double>(is < was ? is : is - was));
  };
  const protocol::Traffic before = std::exchange(own.traffic, traffic);
  count(own.pushed_bytes.In(families_->pushed_bytes, own.labels), before.pushed_bytes,
        traffic.pushed_bytes);
  count(own.pulled_bytes.In(families_->pulled_bytes, own.labels), before.pulled_bytes,
        traffic.pulled_bytes);
  if (status.threads > 0) own.threads.In(families_->threads, own.labels).Set(status.threads);
  // Others than those of jobs with loss scaling do not have it.
  if (status.loss_scale == 0) return;
  count(own.overflows.In(families_->overflows, own.labels),
        std::exchange(own.overflows_counted, status.overflows), status.overflows);
  own.loss_scale.In(families_->loss_scale, own.labels).Set(status.loss_scale);
}

}  // namespace paceline::ps
