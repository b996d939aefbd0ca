#include "lib/telemetry/http_endpoint.h"

#include <algorithm>
#include <utility>

#include <openssl/ssl.h>

#include "lib/base/check.h"
#include "lib/telemetry/http_front.h"

namespace paceline::telemetry {
namespace {

std::string PathList(const std::vector<HttpRoute>& routes) {
  std::string list;
  for (const HttpRoute& route : routes) list += fmt::format("  {} {}\n", route.method, route.path);
  return list;
}

bool Serves(const HttpRoute& route, const HttpRequest& request) {
  return route.method == request.method || (route.method == "GET" && request.method == "HEAD");
}

HttpLane LaneOf(const std::vector<HttpRoute>& routes, const HttpRequest& request) {
  const auto is_probe = [&](const HttpRoute& route) {
    return route.lane == HttpLane::kProbe && route.path == request.path;
  };
  return std::any_of(routes.begin(), routes.end(), is_probe) ? HttpLane::kProbe
                                                             : HttpLane::kOrdinary;
}

HttpAnswer Answer(const std::vector<HttpRoute>& routes, const HttpRequest& request) {
  bool is_known_path = false;
  for (const HttpRoute& route : routes) {
    if (route.path != request.path) continue;
    if (Serves(route, request)) return route.answerer(request);
    is_known_path = true;
  }
  if (is_known_path) {
    return {.status = 405, .body = fmt::format("{} is not for {}\n", request.path, request.method)};
  }
  return {.status = 404,
          .body = fmt::format("nothing at {}; there are\n{}", request.path, PathList(routes))};
}

// Waits behind no scrape: who asks would take a busy process for a dead one.
HttpRoute ProbeRoute(const char* path, std::function<Status()> judge) {
  return {path,
          [judge = std::move(judge)](const HttpRequest&) {
            const Status status = judge();
            if (status.ok()) return HttpAnswer{.body = "ok\n"};
            return HttpAnswer{.status = 503, .body = Message(status) + "\n"};
          },
          "GET", HttpLane::kProbe};
}

}  // namespace

HttpRoute MetricsRoute(const Metrics& metrics) {
  return {"/metrics", [&metrics](const HttpRequest&) {
            return HttpAnswer{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                              .body = metrics.RenderText()};
          }};
}

HttpRoute HealthRoute(std::function<Status()> healthy) {
  return ProbeRoute("/healthz", std::move(healthy));
}

HttpRoute ReadinessRoute(std::function<Status()> ready) {
  return ProbeRoute("/readyz", std::move(ready));
}

struct HttpEndpoint::Listening {
  std::vector<HttpRoute> routes;
  std::optional<HttpsHooks> https;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context{nullptr, SSL_CTX_free};
  int port = 0;
  std::unique_ptr<HttpFront> front;
};

StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(HttpEndpointOptions options) {
  auto listening = std::make_unique<Listening>();
  listening->routes = std::move(options.routes);
  listening->https = std::move(options.https);
  if (listening->https) {
    listening->context.reset(SSL_CTX_new(TLS_server_method()));
    PACELINE_CHECK(listening->context != nullptr, "OpenSSL gives no context");
    PACELINE_RETURN_IF_ERROR(listening->https->set_up(listening->context.get()));
  }
  PACELINE_ASSIGN_OR_RETURN(OwnedSocket socket, ListenOn(options.host, options.port));
  listening->port = PortOf(socket);
  const Listening& held = *listening;
  listening->front = std::make_unique<HttpFront>(
      std::move(socket), listening->context.get(),
      HttpFrontOptions{
          .body_bytes_max = options.body_bytes_max,
          .request_longest = options.request_longest,
          .lane = [&held](const HttpRequest& request) { return LaneOf(held.routes, request); },
          .answer = [&held](const HttpRequest& request, const ssl_st* session) -> HttpAnswer {
            const Status welcome = held.https ? held.https->admit(session) : OkStatus();
            if (!welcome.ok()) return {.status = 403, .body = Message(welcome) + "\n"};
            return Answer(held.routes, request);
          }});
  return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(std::move(listening)));
}

HttpEndpoint::HttpEndpoint(std::unique_ptr<Listening> listening)
    : listening_(std::move(listening)) {}

HttpEndpoint::~HttpEndpoint() { Stop(); }

int HttpEndpoint::port() const { return listening_->port; }

void HttpEndpoint::Stop() { listening_->front->Stop(); }

}  // namespace paceline::telemetry
