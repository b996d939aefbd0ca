#include "ps-server/endpoints.h"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "ps-server/port_file.h"

namespace paceline::ps {
namespace {

telemetry::HttpRoute ReadyRoute(const Driver& driver) {
  return telemetry::ReadinessRoute([&driver]() -> Status {
    const Progress progress = driver.progress();
    if (progress.status.phase != coordination::Phase::kBirth) return OkStatus();
    return Unavailable("waiting for {}", progress.status.birth_waits_for);
  });
}

telemetry::HttpAnswer Answer(const Status& status) {
  const int code = status.ok()                                        ? 200
                   : status.code() == StatusCode::kInvalidArgument    ? 400
                   : status.code() == StatusCode::kUnimplemented      ? 400
                   : status.code() == StatusCode::kFailedPrecondition ? 409
                                                                      : 500;
  return {.status = code, .body = (status.ok() ? "taken over" : Message(status)) + "\n"};
}

// {"workers": [3, 4]}.
StatusOr<std::vector<WorkerId>> WorkersOf(const std::string& text) {
  const nlohmann::json body = nlohmann::json::parse(text, nullptr, false);
  if (!body.is_object() || !body.contains("workers") || !body["workers"].is_array())
    return InvalidArgument("want {{\"workers\": [INDEX, ...]}}: got {}", text);
  std::vector<WorkerId> workers;
  for (const nlohmann::json& index : body["workers"]) {
    if (!index.is_number_unsigned())
      return InvalidArgument("workers holds what is no index: {}", index.dump());
    workers.emplace_back(index.get<uint64_t>());
  }
  return workers;
}

Status TakeSpec(LiveJob& live, Driver& driver, const std::string& text) {
  PACELINE_ASSIGN_OR_RETURN(const coordination::SpecChanged changed, live.Take(text));
  driver.ChangeSpec(changed);
  return OkStatus();
}

Status Drain(Driver& driver, const std::string& text) {
  PACELINE_ASSIGN_OR_RETURN(std::vector<WorkerId> workers, WorkersOf(text));
  driver.Drain(std::move(workers));
  return OkStatus();
}

telemetry::HttpRoute ProgressRoute(bool has_tls, const LiveJob& live, const Driver& driver) {
  const auto show = [&live, &driver, has_tls](const telemetry::HttpRequest&) {
    return telemetry::HttpAnswer{
        .content_type = "application/json",
        .body = ProgressJson(driver.progress(), ViewOf(live, has_tls), driver.finished())};
  };
  return {"/v1/job", show};
}

// What changes a job.
std::vector<telemetry::HttpRoute> ChangingRoutes(LiveJob& live, Driver& driver) {
  using telemetry::HttpRequest;
  const auto change = [&live, &driver](const HttpRequest& request) {
    return Answer(TakeSpec(live, driver, request.body));
  };
  const auto drain = [&driver](const HttpRequest& request) {
    return Answer(Drain(driver, request.body));
  };
  return {{"/v1/job/spec", change, "PUT"}, {"/v1/job/drain", drain, "POST"}};
}

}  // namespace

JobView ViewOf(const LiveJob& live, bool has_tls) {
  const job::TrainingJob job = live.job();
  return {.mtls = job.spec.security.mtls,
          .has_tls = has_tls,
          .scheme = std::string(sync::ToString(live.policy().scheme)),
          .is_chaos_enabled = job.spec.chaos.enabled};
}

StatusOr<Endpoints> Endpoints::Start(const Options& options, const JobTls& tls,
                                     const telemetry::Metrics& metrics, LiveJob& live,
                                     Driver& driver) {
  const telemetry::HttpRoute progress = ProgressRoute(tls.api.has_value(), live, driver);
  std::vector<telemetry::HttpRoute> plain = {
      telemetry::MetricsRoute(metrics), telemetry::HealthRoute(), ReadyRoute(driver), progress};
  std::vector<telemetry::HttpRoute> api = ChangingRoutes(live, driver);
  Endpoints endpoints;
  if (tls.api) {
    api.push_back(progress);
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
