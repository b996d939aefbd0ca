#include "lib/telemetry/http_get.h"

#include <chrono>
#include <memory>

#include <httplib.h>

namespace paceline::telemetry {
namespace {

constexpr const char* kJson = "application/json";

template <class Client>
httplib::Result Send(Client& client, const HttpCall& call, Duration timeout) {
  const auto wait = std::chrono::duration_cast<std::chrono::microseconds>(timeout);
  client.set_connection_timeout(wait);
  client.set_read_timeout(wait);
  client.set_write_timeout(wait);
  const httplib::Headers headers(call.headers.begin(), call.headers.end());
  if (call.method == "PUT") return client.Put(call.path, headers, call.body, kJson);
  if (call.method == "POST") return client.Post(call.path, headers, call.body, kJson);
  return client.Get(call.path, headers);
}

StatusOr<std::string> Judge(const httplib::Result& result, const std::string& url,
                            const std::string& why) {
  if (!result) {
    return Unavailable("{}: {}{}{}", url, httplib::to_string(result.error()),
                       why.empty() ? "" : ": ", why);
  }
  if (result->status == 200) return result->body;
  std::string text = result->body;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (result->status == 404) return NotFound("{}: {}", url, text);
  if (result->status == 403) return PermissionDenied("{}: {}", url, text);
  if (result->status == 400) return InvalidArgument("{}: {}", url, text);
  if (result->status >= 500) return Unavailable("{}: {} {}", url, result->status, text);
  return FailedPrecondition("{}: {} {}", url, result->status, text);
}

}  // namespace

StatusOr<std::string> HttpSend(const HttpCall& call, Duration timeout) {
  const std::string url =
      fmt::format("{}://{}:{}{}", call.https ? "https" : "http", call.host, call.port, call.path);
  if (!call.https) {
    httplib::ClientImpl client(call.host, call.port);
    return Judge(Send(client, call, timeout), url, "");
  }
  httplib::SSLClient client(call.host, call.port);
  // The library would compare the certificate with the host that is dialled; the hook has OpenSSL
  // itself verify what counts.
  client.enable_server_certificate_verification(false);
  PACELINE_RETURN_IF_ERROR(Annotate(call.https->set_up(client.ssl_context()), url));
  (void)call.https->why();
  const httplib::Result result = Send(client, call, timeout);
  return Judge(result, url, result ? "" : call.https->why());
}

StatusOr<std::string> HttpGet(const std::string& host, int port, const std::string& path,
                              Duration timeout) {
  return HttpSend({.host = host, .port = port, .path = path}, timeout);
}

}  // namespace paceline::telemetry
