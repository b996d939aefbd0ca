// Defines Endpoints: what a coordinator shows over HTTP.
#pragma once

#include <memory>

#include "lib/base/status.h"
#include "lib/job/training_job.h"
#include "lib/telemetry/http_endpoint.h"
#include "ps-server/driver/driver.h"
#include "ps-server/job_tls.h"
#include "ps-server/options.h"

namespace paceline::ps {

// /metrics, /healthz and /readyz in plain text; the API (/v1/job) beside them, or, with TLS, on a
// port of its own, for those alone who prove to be the operator or a shard.
struct Endpoints {
  std::unique_ptr<telemetry::HttpEndpoint> plain;
  std::unique_ptr<telemetry::HttpEndpoint> api;  // Null without TLS.

  // What is named must outlive the endpoints. Unavailable if a port cannot be had.
  static StatusOr<Endpoints> Start(const Options& options, const job::TrainingJob& job,
                                   const JobTls& tls, const telemetry::Metrics& metrics,
                                   const Driver& driver);
  void Stop();  // No answer is being given any more.
};

}  // namespace paceline::ps
