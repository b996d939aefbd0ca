// Defines ShardMetrics: what each shard counts and measures, under the names of docs/metrics.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/time.h"
#include "lib/base/version.h"
#include "lib/telemetry/metrics.h"

namespace paceline::ps {

// Thread-safe.
class ShardMetrics {
 public:
  explicit ShardMetrics(telemetry::Metrics* metrics);

  void Configured(uint64_t slice_bytes);
  void Dropped();
  // `took`: summing up what was not summed yet, the optimizer, publishing.
  void Committed(Version version, size_t pushes, Duration took);

 private:
  telemetry::Gauge slice_bytes_;
  telemetry::Gauge version_;
  telemetry::Counter committed_;
  telemetry::Counter dropped_;
  telemetry::Histogram commit_seconds_;
};

}  // namespace paceline::ps
