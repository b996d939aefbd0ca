#include "ps-server/coordinator/driver_metrics.h"

#include <limits>
#include <string>

#include <fmt/format.h>

#include "lib/coordination/words.h"
#include "lib/sync/contract/words.h"
#include "lib/telemetry/clock.h"

namespace paceline::ps {
namespace {

// 20 us to 40 s.
std::vector<double> ControlBuckets() { return telemetry::ExponentialBuckets(20e-6, 2, 22); }

std::string Label(WorkerId worker) { return fmt::format("{}", worker); }

}  // namespace

struct DriverMetrics::Families {
  explicit Families(telemetry::Metrics* metrics)
      : steps(metrics->Counters("paceline_worker_steps_total",
                                "Local steps that a worker has pushed.", {"worker"})),
        samples(metrics->Counters("paceline_worker_samples_total",
                                  "Samples that a worker has pushed.", {"worker"})),
        compute(metrics->Counters("paceline_worker_compute_seconds_total",
                                  "Time a worker spent in forward and backward passes.",
                                  {"worker"})),
        wait(metrics->Counters("paceline_worker_wait_seconds_total",
                               "Time a worker had nothing to do but wait for a release.",
                               {"worker"})),
        communication(metrics->Counters(
            "paceline_worker_communication_seconds_total",
            "Time a worker spent pulling and pushing, not overlapped by computation.", {"worker"})),
        overlapped(metrics->Counters("paceline_worker_overlapped_seconds_total",
                                     "Time a worker spent pulling and pushing while it computed.",
                                     {"worker"})),
        injected(metrics->Counters("paceline_worker_injected_seconds_total",
                                   "Of the compute time, slept because spec.chaos says so.",
                                   {"worker"})),
        step_seconds(metrics->Histograms("paceline_worker_compute_seconds",
                                         "Compute time of one push.",
                                         telemetry::ExponentialBuckets(1e-3, 2, 18), {"worker"})),
        staleness(metrics->Histograms(
            "paceline_push_staleness",
            "Versions published between the one a push was computed on and its accumulation.",
            {0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128}, {"worker"})),
        spread(
            metrics->Histograms("paceline_pull_spread",
                                "Versions that shards were apart in what a push was computed on.",
                                {0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128}, {"worker"})),
        pushed_bytes(metrics->Counters("paceline_worker_pushed_bytes_total",
                                       "Bytes of gradients or deltas that a worker has pushed.",
                                       {"worker"})),
        pulled_bytes(metrics->Counters("paceline_worker_pulled_bytes_total",
                                       "Bytes of parameters that a worker has pulled.",
                                       {"worker"})),
        policy_seconds(metrics->OneHistogram(
            "paceline_policy_event_seconds",
            "Time that the policy took to decide on an event; work in spare time left out.",
            telemetry::ExponentialBuckets(1e-6, 2, 20))),
        accepted(metrics->Counters("paceline_pushes_accepted_total", "Pushes that counted.",
                                   {"worker"})),
        dropped(metrics->Counters("paceline_pushes_dropped_total",
                                  "Pushes that did not count, by reason.", {"worker", "reason"})),
        wasted(metrics->Counters("paceline_wasted_compute_seconds_total",
                                 "Compute time of pushes that did not count.", {"worker"})),
        nonfinite(metrics->Counters("paceline_pushes_nonfinite_total",
                                    "Pushes with a NaN or an infinity.", {"worker"})),
        worker_events(metrics->Counters("paceline_worker_events_total",
                                        "Joins, losses, refusals and expulsions of workers.",
                                        {"kind"})),
        poisoned(metrics->OneCounter(
            "paceline_samples_poisoned_total",
            "Samples left out because they made two workers ill, or ended them.")),
        versions(metrics->OneCounter("paceline_versions_published_total",
                                     "Commits that all shards have published.")),
        version(metrics->OneGauge("paceline_version",
                                  "The newest version that all shards have published.")),
        committed_samples(
            metrics->OneGauge("paceline_committed_samples", "Samples in the published version.")),
        commit_pushes(metrics->OneGauge("paceline_commit_pushes",
                                        "Pushes in the latest commit: the k of k-of-n schemes.")),
        workers(metrics->OneGauge("paceline_workers", "Workers that the policy counts on.")),
        epochs(metrics->OneCounter("paceline_epochs_completed_total",
                                   "Epochs of which every sample is committed.")),
        loss(metrics->OneGauge("paceline_training_loss",
                               "Mean loss of the latest commit's samples.")),
        learning_rate(
            metrics->OneGauge("paceline_learning_rate", "Rate applied by the latest commit.")),
        evaluation_loss(metrics->OneGauge("paceline_evaluation_loss",
                                          "Held-out loss of the latest evaluation.")),
        evaluation_accuracy(metrics->OneGauge(
            "paceline_evaluation_accuracy",
            "Held-out accuracy of the latest evaluation, 0..1; NaN where it is unknown.")),
        version_seconds(metrics->OneHistogram(
            "paceline_step_seconds", "From the publication of one version to that of the next.",
            telemetry::ExponentialBuckets(1e-3, 2, 18))),
        release_seconds(metrics->OneHistogram(
            "paceline_release_seconds",
            "From the arrival of the push that closed a step to the first release of its version.",
            ControlBuckets())),
        commit_seconds(metrics->OneHistogram(
            "paceline_commit_seconds",
            "From sending a commit to the shards to the last acknowledgement.", ControlBuckets())),
        contract(metrics->OneCounter(
            "paceline_policy_contract_violations_total",
            "Decisions of the policy that broke its contract; always 0 unless there is a bug.")),
        checkpoints(metrics->Counters("paceline_checkpoints_total",
                                      "Checkpoints that were completed, or given up.", {"result"})),
        checkpoint_version(metrics->OneGauge("paceline_checkpoint_version",
                                             "Version of the newest complete checkpoint.")),
        checkpoint_time(
            metrics->OneGauge("paceline_checkpoint_completion_timestamp_seconds",
                              "When the newest checkpoint was complete, in seconds since 1970.")),
        roll_backs(metrics->OneCounter("paceline_rollbacks_total",
                                       "Returns to a checkpoint, or to startup.")) {}

  telemetry::CounterFamily steps, samples, compute, wait, communication, overlapped, injected;
  telemetry::HistogramFamily step_seconds, staleness, spread;
  telemetry::CounterFamily pushed_bytes, pulled_bytes;
  telemetry::Histogram policy_seconds;
  telemetry::CounterFamily accepted, dropped, wasted, nonfinite, worker_events;
  telemetry::Counter poisoned, versions;
  telemetry::Gauge version, committed_samples, commit_pushes, workers;
  telemetry::Counter epochs;
  telemetry::Gauge loss, learning_rate, evaluation_loss, evaluation_accuracy;
  telemetry::Histogram version_seconds, release_seconds, commit_seconds;
  telemetry::Counter contract;
  telemetry::CounterFamily checkpoints;
  telemetry::Gauge checkpoint_version, checkpoint_time;
  telemetry::Counter roll_backs;
};

DriverMetrics::DriverMetrics(telemetry::Metrics* metrics)
    : families_(std::make_unique<Families>(metrics)), figures_(metrics) {}
DriverMetrics::~DriverMetrics() = default;

void DriverMetrics::Observed(const sync::Event& event) {
  if (const auto* joined = std::get_if<sync::WorkerJoined>(&event)) workers_.insert(joined->worker);
  if (const auto* left = std::get_if<sync::WorkerLeft>(&event)) workers_.erase(left->worker);
  families_->workers.Set(static_cast<double>(workers_.size()));
  const auto* arrived = std::get_if<sync::PushArrived>(&event);
  if (arrived == nullptr) return;
  const sync::PushArrived& push = *arrived;
  const std::vector<std::string> labels = {Label(push.worker)};
  families_->steps.With(labels).Increment(push.steps);
  families_->samples.With(labels).Increment(push.samples);
  families_->compute.With(labels).Increment(ToSeconds(push.timing.compute));
  families_->wait.With(labels).Increment(ToSeconds(push.timing.wait));
  families_->communication.With(labels).Increment(ToSeconds(push.timing.communication));
  families_->overlapped.With(labels).Increment(ToSeconds(push.timing.overlapped));
  // Other jobs do not have it.
  if (push.timing.injected > Duration::zero())
    families_->injected.With(labels).Increment(ToSeconds(push.timing.injected));
  families_->spread.With(labels).Observe(push.spread);
  families_->step_seconds.With(labels).Observe(ToSeconds(push.timing.compute));
  if (!push.gradient.is_finite) families_->nonfinite.With(labels).Increment();
  unanswered_[{push.worker, push.sequence}] = {push.based_on, push.timing.compute};
}

void DriverMetrics::Decided(const std::vector<sync::Decision>& decisions) {
  for (const sync::Decision& decision : decisions) {
    if (const auto* accumulate = std::get_if<sync::Accumulate>(&decision)) {
      ++accumulated_;
      families_->accepted.With({Label(accumulate->worker)}).Increment();
      if (const auto push = unanswered_.extract({accumulate->worker, accumulate->sequence})) {
        families_->staleness.With({Label(accumulate->worker)})
            .Observe(static_cast<double>(committing_.value() - push.mapped().based_on.value()));
      }
    } else if (const auto* drop = std::get_if<sync::Drop>(&decision)) {
      families_->dropped.With({Label(drop->worker), std::string(ToString(drop->reason))})
          .Increment();
      if (const auto push = unanswered_.extract({drop->worker, drop->sequence})) {
        families_->wasted.With({Label(drop->worker)}).Increment(ToSeconds(push.mapped().compute));
      }
    } else if (std::holds_alternative<sync::Commit>(decision)) {
      families_->commit_pushes.Set(accumulated_);
      accumulated_ = 0;
    }
  }
}

void DriverMetrics::CommitSent(Version version, Time push_arrived, Time now) {
  commits_.try_emplace(version,
                       InFlight{push_arrived, now});  // Sent once a shard; the first counts.
  committing_ = version;
}

void DriverMetrics::Published(const coordination::VersionPublished& published, Time now) {
  families_->versions.Increment();
  if (published_) families_->version_seconds.Observe(ToSeconds(now - *published_));
  published_ = now;
  families_->version.Set(static_cast<double>(published.version.value()));
  families_->committed_samples.Set(static_cast<double>(published.committed_samples));
  families_->loss.Set(published.loss);
  families_->learning_rate.Set(published.learning_rate);
  const auto commit = commits_.find(published.version);
  if (commit == commits_.end()) return;  // Version 0, or published before.
  families_->commit_seconds.Observe(ToSeconds(now - commit->second.sent));
  commit->second.is_published = true;
  ForgetDone(commit);
}

void DriverMetrics::Released(Version version, Time now) {
  const auto commit = commits_.find(version);
  if (commit == commits_.end() || commit->second.is_released) return;  // Not the first release.
  families_->release_seconds.Observe(ToSeconds(now - commit->second.push_arrived));
  commit->second.is_released = true;
  ForgetDone(commit);
}

// Of the two, either may come first.
void DriverMetrics::ForgetDone(std::map<Version, InFlight>::iterator commit) {
  if (commit->second.is_published && commit->second.is_released) {
    commits_.erase(commits_.begin(), std::next(commit));
  }
}

void DriverMetrics::EpochCompleted() { families_->epochs.Increment(); }

void DriverMetrics::Evaluated(const protocol::Evaluated& result) {
  families_->evaluation_loss.Set(result.loss);
  families_->evaluation_accuracy.Set(
      result.accuracy.value_or(std::numeric_limits<double>::quiet_NaN()));
}

void DriverMetrics::SampleWasPoisoned() { families_->poisoned.Increment(); }

void DriverMetrics::WorkerHad(const coordination::WorkerEvent& event) {
  families_->worker_events.With({std::string(ToString(event.kind))}).Increment();
}

void DriverMetrics::PolicyTook(Duration duration) {
  families_->policy_seconds.Observe(ToSeconds(duration));
}

void DriverMetrics::WorkersAre(const std::vector<coordination::WorkerStatus>& workers) {
  for (const coordination::WorkerStatus& status : workers) {
    protocol::Traffic& before = traffic_[status.worker];
    const std::vector<std::string> labels = {Label(status.worker)};
    const auto count = [&](telemetry::CounterFamily& family, uint64_t was, uint64_t is) {
      // A generation that begins anew counts from 0.
      family.With(labels).Increment(static_cast<double>(is < was ? is : is - was));
    };
    count(families_->pushed_bytes, before.pushed_bytes, status.traffic.pushed_bytes);
    count(families_->pulled_bytes, before.pulled_bytes, status.traffic.pulled_bytes);
    before = status.traffic;
  }
}

void DriverMetrics::PolicyBrokeContract() { families_->contract.Increment(); }

void DriverMetrics::Opened(Version version) { committing_ = version; }

void DriverMetrics::CheckpointEnded(Version version, bool is_complete) {
  families_->checkpoints.With({is_complete ? "complete" : "failed"}).Increment();
  if (!is_complete) return;
  families_->checkpoint_version.Set(static_cast<double>(version.value()));
  families_->checkpoint_time.Set(telemetry::UnixSeconds());
}

void DriverMetrics::RolledBack() {
  families_->roll_backs.Increment();
  commits_.clear();
  unanswered_.clear();
  published_.reset();
  workers_.clear();  // They join again.
  accumulated_ = 0;
}

void DriverMetrics::Finished() {
  workers_.clear();
  families_->workers.Set(0);
}

}  // namespace paceline::ps
