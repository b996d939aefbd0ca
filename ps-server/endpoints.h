// Defines Endpoints: what a coordinator shows over HTTP.
#pragma once

#include <memory>

#include "lib/base/status.h"
#include "lib/telemetry/http_endpoint.h"
#include "ps-server/coordinator/driver.h"
#include "ps-server/job_tls.h"
#include "ps-server/live_job.h"
#include "ps-server/model/served_model.h"
#include "ps-server/options.h"
#include "ps-server/status_json.h"

namespace paceline::ps {

JobView ViewOf(const LiveJob& live, const ServedModel& model, bool has_tls);

// /metrics, /healthz, /readyz and progress in plain text (docs/adr/0013); the API on a port of its
// own. With TLS it is for those alone who prove to be the operator or a shard, without TLS its
// calls that change something need the token (docs/adr/0034). No web page can make those. The plain
// port has, where it is asked for, the model for whoever shows the token (served_model.h). The API:
//   GET /v1/job           progress as JSON; in plain text too, since it tells no more than /metrics
//   PUT /v1/job/spec      the resolved job, JSON: what may change is taken over; 400 if it is not
//                         valid, 409 with the field if it changes what must stay
//   POST /v1/job/drain    {"workers": [3, 4]}, or with groups ["big/3"]: these finish their step
//   and leave
struct Endpoints {
  std::unique_ptr<telemetry::HttpEndpoint> plain;
  std::unique_ptr<telemetry::HttpEndpoint> api;  // Null with neither TLS nor a token.

  // What is named must outlive the endpoints. Unavailable if a port cannot be had; AccessToken's
  // errors if the token's file holds none.
  static StatusOr<Endpoints> Start(const Options& options, const JobTls& tls,
                                   const telemetry::Metrics& metrics, LiveJob& live,
                                   ServedModel& model, Driver& driver);
  void Stop();  // No answer is being given any more.
};

}  // namespace paceline::ps
