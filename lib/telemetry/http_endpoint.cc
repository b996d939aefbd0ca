#include "lib/telemetry/http_endpoint.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <httplib.h>

namespace paceline::telemetry {
namespace {

constexpr size_t kAnsweringThreads = 4;

std::string LowerCase(std::string text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

HttpRequest ToRequest(const httplib::Request& given) {
  HttpRequest request{.method = given.method, .path = given.path, .query = {}, .body = given.body};
  for (const auto& [name, value] : given.params) request.query.emplace(name, value);
  for (const auto& [name, value] : given.headers) {
    std::string& all = request.headers[LowerCase(name)];
    all += (all.empty() ? "" : ", ") + value;
  }
  return request;
}

std::string PathList(const std::vector<HttpRoute>& routes) {
  std::string list;
  for (const HttpRoute& route : routes) list += fmt::format("  {} {}\n", route.method, route.path);
  return list;
}

HttpAnswer Answer(const std::vector<HttpRoute>& routes, const HttpRequest& request) {
  bool is_known_path = false;
  for (const HttpRoute& route : routes) {
    if (route.path != request.path) continue;
    if (route.method == request.method) return route.answerer(request);
    is_known_path = true;
  }
  if (is_known_path) {
    return {.status = 405, .body = fmt::format("{} is not for {}\n", request.path, request.method)};
  }
  return {.status = 404,
          .body = fmt::format("nothing at {}; there are\n{}", request.path, PathList(routes))};
}

// httplib's default also sets SO_REUSEPORT, with which two processes would share a port in silence.
void SetSocketOptions(socket_t socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

}  // namespace

HttpRoute MetricsRoute(const Metrics& metrics) {
  return {"/metrics", [&metrics](const HttpRequest&) {
            return HttpAnswer{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                              .body = metrics.RenderText()};
          }};
}

HttpRoute HealthRoute() {
  return {"/healthz", [](const HttpRequest&) { return HttpAnswer{.body = "ok\n"}; }};
}

HttpRoute ReadinessRoute(std::function<Status()> ready) {
  return {"/readyz", [ready = std::move(ready)](const HttpRequest&) {
            const Status status = ready();
            if (status.ok()) return HttpAnswer{.body = "ok\n"};
            return HttpAnswer{.status = 503, .body = Message(status) + "\n"};
          }};
}

struct HttpEndpoint::Listening {
  std::vector<HttpRoute> routes;
  std::optional<HttpsHooks> https;
  std::unique_ptr<httplib::Server> server;
  std::thread thread;
  int port = 0;
};

StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(HttpEndpointOptions options) {
  auto listening = std::make_unique<Listening>();
  listening->routes = std::move(options.routes);
  listening->https = std::move(options.https);
  if (listening->https) {
    Status set_up = OkStatus();
    listening->server = std::make_unique<httplib::SSLServer>([&](SSL_CTX& context) {
      set_up = listening->https->set_up(&context);
      return set_up.ok();
    });
    PACELINE_RETURN_IF_ERROR(set_up);
  } else {
    listening->server = std::make_unique<httplib::Server>();
  }
  httplib::Server& server = *listening->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kAnsweringThreads); };
  server.set_socket_options(SetSocketOptions);
  server.set_payload_max_length(options.body_bytes_max);
  // A kept connection would hold up Stop for as long as it is kept.
  server.set_keep_alive_max_count(1);
  server.set_keep_alive_timeout(1);
  server.set_read_timeout(std::chrono::seconds(1));
  const auto answer = [listening = listening.get()](const httplib::Request& request,
                                                    httplib::Response& response) {
    const Status welcome = listening->https ? listening->https->admit(request.ssl) : OkStatus();
    const HttpAnswer given = welcome.ok()
                                 ? Answer(listening->routes, ToRequest(request))
                                 : HttpAnswer{.status = 403, .body = Message(welcome) + "\n"};
    response.status = given.status;
    response.set_content(given.body, given.content_type);
  };
  server.Get(".*", answer).Put(".*", answer).Post(".*", answer).Delete(".*", answer);

  errno = 0;
  const int port = options.port == 0 ? server.bind_to_any_port(options.host)
                   : server.bind_to_port(options.host, options.port) ? options.port
                                                                     : -1;
  if (port <= 0) {
    return Unavailable("cannot listen on {}:{}: {}", options.host, options.port,
                       errno == 0 ? "the host is unknown" : std::strerror(errno));
  }
  listening->port = port;
  listening->thread = std::thread([&server] { server.listen_after_bind(); });
  // Before it runs, a stop would have no effect.
  while (!server.is_running()) std::this_thread::yield();
  return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(std::move(listening)));
}

HttpEndpoint::HttpEndpoint(std::unique_ptr<Listening> listening)
    : listening_(std::move(listening)) {}

HttpEndpoint::~HttpEndpoint() { Stop(); }

int HttpEndpoint::port() const { return listening_->port; }

void HttpEndpoint::Stop() {
  if (!listening_->thread.joinable()) return;
  listening_->server->stop();
  listening_->thread.join();
}

}  // namespace paceline::telemetry
