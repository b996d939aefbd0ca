#include "ps-server/endpoints.h"

#include <utility>
#include <vector>

#include "ps-server/port_file.h"
#include "ps-server/status_json.h"

namespace paceline::ps {
namespace {

telemetry::HttpRoute ReadyRoute(const Driver& driver) {
  return telemetry::ReadinessRoute([&driver]() -> Status {
    const Progress progress = driver.progress();
    if (progress.status.phase != coordination::Phase::kBirth) return OkStatus();
    return Unavailable("waiting for {}", progress.status.birth_waits_for);
  });
}

std::vector<telemetry::HttpRoute> ApiRoutes(const job::TrainingJob& job, bool has_tls,
                                            const Driver& driver) {
  const Security security{job.spec.security.mtls, has_tls};
  const auto job_now = [&driver, security](const telemetry::HttpRequest&) {
    return telemetry::HttpAnswer{
        .content_type = "application/json",
        .body = ProgressJson(driver.progress(), security, driver.finished())};
  };
  return {{"/v1/job", job_now}};
}

}  // namespace

StatusOr<Endpoints> Endpoints::Start(const Options& options, const job::TrainingJob& job,
                                     const JobTls& tls, const telemetry::Metrics& metrics,
                                     const Driver& driver) {
  std::vector<telemetry::HttpRoute> plain = {telemetry::MetricsRoute(metrics),
                                             telemetry::HealthRoute(), ReadyRoute(driver)};
  std::vector<telemetry::HttpRoute> api = ApiRoutes(job, tls.api.has_value(), driver);
  Endpoints endpoints;
  if (tls.api) {
    PACELINE_ASSIGN_OR_RETURN(endpoints.api,
                              telemetry::HttpEndpoint::Start({.host = options.api_host,
                                                              .port = options.api_port,
                                                              .routes = std::move(api),
                                                              .https = tls.api}));
    PACELINE_RETURN_IF_ERROR(WritePort(options.api_port_file, endpoints.api->port()));
  } else {
    plain.insert(plain.end(), api.begin(), api.end());
  }
  PACELINE_ASSIGN_OR_RETURN(
      endpoints.plain,
      telemetry::HttpEndpoint::Start(
          {.host = options.http_host, .port = options.http_port, .routes = std::move(plain)}));
  PACELINE_RETURN_IF_ERROR(WritePort(options.http_port_file, endpoints.plain->port()));
  return endpoints;
}

void Endpoints::Stop() {
  plain->Stop();
  if (api != nullptr) api->Stop();
}

}  // namespace paceline::ps
