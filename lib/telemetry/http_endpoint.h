// Defines HttpEndpoint, the small HTTP server on which a program shows metrics and its state.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(
//       auto endpoint,
//       HttpEndpoint::Start({.host = "127.0.0.1",
//                            .port = 0,
//                            .routes = {MetricsRoute(metrics), HealthRoute(),
//                                       ReadinessRoute([&] { return driver.Ready(); }),
//                                       {"/v1/job", [&](const HttpRequest&) { return Job(); }}}}));
//   endpoint->port();
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/limits.h"
#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/telemetry/metrics.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX...
struct ssl_st;      // ...and SSL.

namespace paceline::telemetry {

struct HttpRequest {
  std::string method;                        // As sent: "GET", "HEAD", "PUT", ...
  std::string path;                          // Decoded, without the query.
  std::map<std::string, std::string> query;  // Decoded; of a repeated name the first value.
  std::string body;
  // Names in lower case; values of a repeated one are joined by ", ".
  std::map<std::string, std::string> headers = {};
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Called on one of the endpoint's own threads, several at a time. An exception becomes a 500.
using HttpAnswerer = std::function<HttpAnswer(const HttpRequest&)>;

// Which threads answer. Probes have one to themselves: nothing else is answered there, and what is
// must not block.
enum class HttpLane { kOrdinary, kProbe };

struct HttpRoute {
  std::string path;  // Matched whole: "/v1/job".
  HttpAnswerer answerer;
  std::string method = "GET";  // Which serves HEAD too.
  HttpLane lane = HttpLane::kOrdinary;
};

// "/metrics" in Prometheus' text format. `metrics` outlives the endpoint.
HttpRoute MetricsRoute(const Metrics& metrics);

// "/healthz": 200 where `healthy` gives OK, which it does unless told otherwise: the process
// answers at all. Else 503 with its message as the reason.
HttpRoute HealthRoute(std::function<Status()> healthy = OkStatus);

// "/readyz": 200 where `ready` gives OK, else 503 with its message as the reason.
HttpRoute ReadinessRoute(std::function<Status()> ready);

// What makes an endpoint an HTTPS one. The hooks are called on the endpoint's threads.
struct HttpsHooks {
  std::function<Status(ssl_ctx_st*)> set_up;  // Once, at the start.
  // Before each request; it is answered 403 with the message of an error.
  std::function<Status(const ssl_st*)> admit;
};

struct HttpEndpointOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0 takes a free one.
  std::vector<HttpRoute> routes;
  std::optional<HttpsHooks> https;                    // Nothing: plain text.
  size_t body_bytes_max = limits::kHttpBodyBytesMax;  // Longer ones are answered 413.
  Duration request_longest = Seconds(limits::kHttpRequestSecondsMax);  // Slower ones: 408.
};

// Listens until it is destroyed. One owner at a time; the answerers run on other threads, once a
// request is there as a whole. Clients that are silent, slow or many cost no thread (http_front.h,
// docs/wire.md, "Limits"). Answers are not compressed.
class HttpEndpoint {
 public:
  // Serves as soon as it returns. Unavailable, naming the address and why, if it cannot listen
  // there: the port is taken, the address is not of this machine. What `https->set_up` says.
  static StatusOr<std::unique_ptr<HttpEndpoint>> Start(HttpEndpointOptions options);

  // Stops as Stop does.
  ~HttpEndpoint();
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  // The port that it listens on.
  int port() const;

  // Answers what is being answered and closes. Milliseconds, unless a client does not take its
  // answer: then up to about a second. No answerer runs after it. Idempotent.
  void Stop();

 private:
  struct Listening;
  explicit HttpEndpoint(std::unique_ptr<Listening> listening);
  std::unique_ptr<Listening> listening_;
};

}  // namespace paceline::telemetry
