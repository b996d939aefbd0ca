#include "ps-server/coordinator/driver_metrics.h"

#include <limits>
#include <string>

#include "lib/coordination/words.h"
#include "lib/telemetry/clock.h"

namespace paceline::ps {
namespace {

// 20 us to 40 s.
std::vector<double> ControlBuckets() { return telemetry::ExponentialBuckets(20e-6, 2, 22); }

}  // namespace

struct DriverMetrics::Families {
  explicit Families(telemetry::Metrics* metrics)
      : policy_seconds(
            metrics->OneHistogram("paceline_policy_event_seconds",
                                  "Time that the policy took to decide on an event; what it puts "
                                  "off (refits, training of predictors) left out.",
                                  telemetry::ExponentialBuckets(1e-6, 2, 20))),
        worker_events(metrics->Counters("paceline_worker_events_total",
                                        "Joins, losses, refusals and expulsions of workers.",
                                        {"kind"})),
        poisoned(metrics->OneCounter("paceline_samples_poisoned_total",
                                     "Samples left out for good: pushes of them were not finite, "
                                     "or the process crashed or hung, on two different workers.")),
        skipped(metrics->OneGauge("paceline_skipped_samples",
                                  "Samples in the published version that the script did without: "
                                  "skipped, or left out by its collate function.")),
        versions(metrics->OneCounter("paceline_versions_published_total",
                                     "Commits that all shards have published.")),
        version(metrics->OneGauge("paceline_version",
                                  "The newest version that all shards have published.")),
        committed_samples(
            metrics->OneGauge("paceline_committed_samples", "Samples in the published version.")),
        commit_pushes(metrics->OneGauge("paceline_commit_pushes",
                                        "Pushes in the latest commit: the k of k-of-n schemes.")),
        workers(metrics->OneGauge("paceline_workers", "Workers that take part.")),
        epochs(metrics->OneCounter("paceline_epochs_completed_total",
                                   "Epochs of which every sample is committed.")),
        loss(metrics->OneGauge("paceline_training_loss",
                               "Mean loss of the latest commit's samples.")),
        learning_rate(metrics->OneGauge("paceline_learning_rate",
                                        "Learning rate applied by the latest commit.")),
        evaluation_loss(metrics->OneGauge("paceline_evaluation_loss",
                                          "Held-out loss of the latest evaluation.")),
        evaluation_accuracy(metrics->OneGauge(
            "paceline_evaluation_accuracy",
            "Held-out accuracy of the latest evaluation, 0..1; NaN where it is unknown.")),
        evaluation_metrics(metrics->Gauges(
            "paceline_evaluation_metric",
            "A metric of the model's own, by its name, in the latest evaluation.", {"metric"})),
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
                                       "Roll backs: returns to a checkpoint, or to the initial "
                                       "parameters where there is none.")) {}

  telemetry::Histogram policy_seconds;
  telemetry::CounterFamily worker_events;
  telemetry::Counter poisoned;
  telemetry::Gauge skipped;
  telemetry::Counter versions;
  telemetry::Gauge version, committed_samples, commit_pushes, workers;
  telemetry::Counter epochs;
  telemetry::Gauge loss, learning_rate, evaluation_loss, evaluation_accuracy;
  telemetry::GaugeFamily evaluation_metrics;
  telemetry::Histogram version_seconds, release_seconds, commit_seconds;
  telemetry::Counter contract;
  telemetry::CounterFamily checkpoints;
  telemetry::Gauge checkpoint_version, checkpoint_time;
  telemetry::Counter roll_backs;
};

DriverMetrics::DriverMetrics(telemetry::Metrics* metrics)
    : families_(std::make_unique<Families>(metrics)), per_worker_(metrics), figures_(metrics) {}
DriverMetrics::~DriverMetrics() = default;

void DriverMetrics::Observed(const sync::Event& event) {
  if (const auto* joined = std::get_if<sync::WorkerJoined>(&event)) workers_.insert(joined->worker);
  if (const auto* left = std::get_if<sync::WorkerLeft>(&event)) workers_.erase(left->worker);
  families_->workers.Set(static_cast<double>(workers_.size()));
  const auto* arrived = std::get_if<sync::PushArrived>(&event);
  if (arrived == nullptr) return;
  const sync::PushArrived& push = *arrived;
  per_worker_.Pushed(push);
  unanswered_[{push.worker, push.sequence}] = {push.based_on, push.timing.compute};
}

void DriverMetrics::Decided(const std::vector<sync::Decision>& decisions) {
  for (const sync::Decision& decision : decisions) {
    if (const auto* accumulate = std::get_if<sync::Accumulate>(&decision)) {
      ++accumulated_;
      const auto push = unanswered_.extract({accumulate->worker, accumulate->sequence});
      std::optional<uint64_t> staleness;
      if (push) staleness = committing_.value() - push.mapped().based_on.value();
      per_worker_.Accepted(accumulate->worker, staleness);
    } else if (const auto* drop = std::get_if<sync::Drop>(&decision)) {
      const auto push = unanswered_.extract({drop->worker, drop->sequence});
      std::optional<Duration> compute;
      if (push) compute = push.mapped().compute;
      per_worker_.Dropped(drop->worker, drop->reason, compute);
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
  families_->skipped.Set(static_cast<double>(published.skipped_samples));
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
  for (const auto& [name, value] : result.metrics)
    families_->evaluation_metrics.With({name}).Set(value);
}

void DriverMetrics::SampleWasPoisoned() { families_->poisoned.Increment(); }

void DriverMetrics::WorkerHad(const coordination::WorkerEvent& event) {
  families_->worker_events.With({std::string(ToString(event.kind))}).Increment();
  if (event.kind == coordination::WorkerEventKind::kJoined)
    per_worker_.Joined(event.worker, event.seat);
}

void DriverMetrics::PolicyTook(Duration duration) {
  families_->policy_seconds.Observe(ToSeconds(duration));
}

void DriverMetrics::WorkersAre(const std::vector<coordination::WorkerStatus>& workers) {
  for (const coordination::WorkerStatus& status : workers) per_worker_.Is(status);
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
