#include "ps-server/endpoints.h"

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "lib/base/lower_case.h"
#include "lib/job/manifest/composition.h"
#include "lib/job/state/model_place.h"
#include "lib/telemetry/access_token.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/http_guard.h"
#include "lib/telemetry/log.h"
#include "lib/tls/identity.h"
#include "ps-server/port_file.h"

namespace paceline::ps {
namespace {

// Which the service, that knows no jobs, and whoever fetches have to agree on.
static_assert(std::string_view(job::kModelPath) == kModelPath);
static_assert(job::kModelPieceBytesMax == kModelPieceBytesMax);
// It is given a fact each second.
constexpr Duration kDriverHangs = std::chrono::seconds(30);

telemetry::HttpRoute ReadyRoute(const Driver& driver) {
  return telemetry::ReadinessRoute([&driver]() -> Status {
    const Progress progress = driver.progress();
    if (progress.status.phase != coordination::Phase::kStartup) return OkStatus();
    return Unavailable("waiting for {}", progress.status.startup_waits_for);
  });
}

// Fails where the driver hangs: whoever asks may then replace this process. One that has finished
// has nothing to turn for.
telemetry::HttpRoute HealthRoute(const Driver& driver) {
  return telemetry::HealthRoute([&driver]() -> Status {
    const Duration still = telemetry::SteadyNow() - driver.turned();
    if (still < kDriverHangs || driver.finished()) return OkStatus();
    return Unavailable("the driver has not turned for {:.0f} s", ToSeconds(still));
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

// 3, or "big/3" in a job with groups.
std::optional<protocol::Seat> SeatFrom(const nlohmann::json& worker) {
  if (worker.is_number_unsigned()) return protocol::Seat{"", worker.get<uint64_t>()};
  if (!worker.is_string()) return std::nullopt;
  const std::string text = worker.get<std::string>();
  const size_t slash = text.find('/');
  if (slash == std::string::npos || slash == 0) return std::nullopt;
  protocol::Seat seat{text.substr(0, slash), 0};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + slash + 1, end, seat.index);
  return stop == end && error == std::errc() ? std::optional(seat) : std::nullopt;
}

// {"workers": [3, 4]}, {"workers": ["big/3"]}.
StatusOr<std::vector<protocol::Seat>> WorkersOf(const std::string& text) {
  const nlohmann::json body = JsonOrNone(text);
  if (!body.is_object() || !body.contains("workers") || !body["workers"].is_array())
    return InvalidArgument("want {{\"workers\": [INDEX, ...]}}: got {}", text);
  std::vector<protocol::Seat> workers;
  for (const nlohmann::json& worker : body["workers"]) {
    const std::optional<protocol::Seat> seat = SeatFrom(worker);
    if (!seat) return InvalidArgument("workers holds what is no index: {}", JsonText(worker));
    workers.push_back(*seat);
  }
  return workers;
}

Status TakeSpec(LiveJob& live, Driver& driver, const std::string& text) {
  PACELINE_ASSIGN_OR_RETURN(const coordination::SpecChanged changed, live.Take(text));
  driver.ChangeSpec(changed);
  return OkStatus();
}

Status Drain(Driver& driver, const std::string& text) {
  PACELINE_ASSIGN_OR_RETURN(std::vector<protocol::Seat> workers, WorkersOf(text));
  driver.Drain(std::move(workers));
  return OkStatus();
}

telemetry::HttpRoute ProgressRoute(bool has_tls, const LiveJob& live, const ServedModel& model,
                                   const Driver& driver) {
  const auto show = [&live, &model, &driver, has_tls](const telemetry::HttpRequest&) {
    return telemetry::HttpAnswer{
        .content_type = "application/json",
        .body = ProgressJson(driver.progress(), ViewOf(live, model, has_tls), driver.finished())};
  };
  return {"/v1/job", show};
}

// Who may change a job: no web page, and without certificates only who has the token.
struct Door {
  std::string scheme = "https";
  std::vector<std::string> host_names = {};
  std::optional<telemetry::AccessToken> token = std::nullopt;

  telemetry::HttpAnswerer Guard(telemetry::HttpAnswerer inside) const {
    return [door = *this, inside = std::move(inside)](const telemetry::HttpRequest& request) {
      if (auto refused = telemetry::RefuseForeign(request, door.scheme, door.host_names)) {
        LogRefusal(request, refused->body);
        return *std::move(refused);
      }
      if (const Status welcome = door.token ? door.token->Admit(request) : OkStatus();
          !welcome.ok()) {
        LogRefusal(request, Message(welcome));
        return telemetry::HttpAnswer{.status = 403, .body = Message(welcome) + "\n"};
      }
      return inside(request);
    };
  }

  static void LogRefusal(const telemetry::HttpRequest& request, std::string reason) {
    if (reason.ends_with('\n')) reason.pop_back();
    telemetry::Log(telemetry::LogLevel::kWarning, "API refused a call",
                   {{"call", request.method + " " + request.path}, {"reason", reason}});
  }
};

// We are called by the address that we advertise, and by the operator with certificates by the name
// in ours, wherever it connects to.
StatusOr<Door> DoorOf(const Options& options, const job::TrainingJob& job, bool has_tls) {
  Door door;
  std::string host = LowerCase(options.advertise.substr(0, options.advertise.rfind(':')));
  if (!options.advertise.starts_with("unix:") && !host.empty()) door.host_names = {std::move(host)};
  if (has_tls) {
    door.host_names.push_back(
        tls::NameOf({tls::Role::kPs, 0}, job.metadata.name, job.metadata.name_space));
    return door;
  }
  door.scheme = "http";
  door.token.emplace(options.token_file);
  PACELINE_RETURN_IF_ERROR(door.token->Read().status());
  return door;
}

// What changes a job.
std::vector<telemetry::HttpRoute> ChangingRoutes(LiveJob& live, Driver& driver, const Door& door) {
  using telemetry::HttpRequest;
  const auto change = [&live, &driver](const HttpRequest& request) {
    return Answer(TakeSpec(live, driver, request.body));
  };
  const auto drain = [&driver](const HttpRequest& request) {
    return Answer(Drain(driver, request.body));
  };
  return {{"/v1/job/spec", door.Guard(change), "PUT"},
          {"/v1/job/drain", door.Guard(drain), "POST"}};
}

StatusOr<std::unique_ptr<telemetry::HttpEndpoint>> StartApi(const Options& options,
                                                            const JobTls& tls, LiveJob& live,
                                                            const telemetry::HttpRoute& progress,
                                                            Driver& driver) {
  const bool has_tls = tls.api.has_value();
  PACELINE_ASSIGN_OR_RETURN(const Door door, DoorOf(options, live.job(), has_tls));
  std::vector<telemetry::HttpRoute> routes = ChangingRoutes(live, driver, door);
  routes.push_back(progress);
  PACELINE_ASSIGN_OR_RETURN(auto endpoint,
                            telemetry::HttpEndpoint::Start({.host = options.api_host,
                                                            .port = options.api_port,
                                                            .routes = std::move(routes),
                                                            .https = tls.api}));
  PACELINE_RETURN_IF_ERROR(WritePort(options.api_port_file, endpoint->port()));
  return endpoint;
}

}  // namespace

JobView ViewOf(const LiveJob& live, const ServedModel& model, bool has_tls) {
  const job::TrainingJob job = live.job();
  return {.mtls = job.spec.security.mtls,
          .has_tls = has_tls,
          .scheme = std::string(sync::ToString(live.policy().scheme)),
          .composition = job::CompositionOf(live.job().spec.sync),
          .is_chaos_enabled = job.spec.chaos.enabled,
          .model = model.digest(),
          .is_model_fetched = model.is_fetched(),
          .left_out_of_model = model.left_out()};
}

StatusOr<Endpoints> Endpoints::Start(const Options& options, const JobTls& tls,
                                     const telemetry::Metrics& metrics, LiveJob& live,
                                     ServedModel& model, Driver& driver) {
  const telemetry::HttpRoute progress = ProgressRoute(tls.api.has_value(), live, model, driver);
  std::vector<telemetry::HttpRoute> plain = {telemetry::MetricsRoute(metrics), HealthRoute(driver),
                                             ReadyRoute(driver), progress};
  if (options.serves_model) {
    for (telemetry::HttpRoute& route : model.Routes()) plain.push_back(std::move(route));
  }
  Endpoints endpoints;
  if (tls.api || !options.token_file.empty()) {
    PACELINE_ASSIGN_OR_RETURN(endpoints.api, StartApi(options, tls, live, progress, driver));
  } else {
    telemetry::Log(telemetry::LogLevel::kWarning, "nobody may change this job",
                   {{"reason", "neither --tls-folder nor --token-file is given"}});
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
