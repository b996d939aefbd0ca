// Names the ports of a job's pods.
#pragma once

namespace paceline::job {

inline constexpr int kBulkPort = 7600;  // gRPC: pushes, pulls, control streams.
inline constexpr int kApiPort = 7601;   // The coordinator's API, HTTPS.
// /metrics, /healthz, /readyz and the coordinator's GET /v1/job; plain HTTP.
inline constexpr int kMetricsPort = 7602;

}  // namespace paceline::job
