#include "ps-server/shard/shard_metrics.h"

namespace paceline::ps {

ShardMetrics::ShardMetrics(telemetry::Metrics* metrics)
    : slice_bytes_(metrics->OneGauge("paceline_shard_slice_bytes",
                                     "Bytes of the model that this shard holds.")),
      version_(metrics->OneGauge("paceline_shard_version",
                                 "The newest version that this shard has published.")),
      committed_(metrics->OneCounter("paceline_shard_pushes_committed_total",
                                     "Pushes in the versions that this shard has published.")),
      dropped_(metrics->OneCounter("paceline_shard_pushes_dropped_total",
                                   "Pushes that the coordinator had this shard drop.")),
      commit_seconds_(metrics->OneHistogram(
          "paceline_shard_commit_seconds",
          "Time to sum up the rest of a step's pushes, run the optimizer and publish.",
          telemetry::ExponentialBuckets(20e-6, 2, 22))) {}

void ShardMetrics::Configured(uint64_t slice_bytes) {
  slice_bytes_.Set(static_cast<double>(slice_bytes));
}

void ShardMetrics::Dropped() { dropped_.Increment(); }

void ShardMetrics::Committed(Version version, size_t pushes, Duration took) {
  version_.Set(static_cast<double>(version.value()));
  committed_.Increment(static_cast<double>(pushes));
  commit_seconds_.Observe(ToSeconds(took));
}

}  // namespace paceline::ps
