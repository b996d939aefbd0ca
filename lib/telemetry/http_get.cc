#include "lib/telemetry/http_get.h"

#include <chrono>

#include <httplib.h>

#include "lib/base/limits.h"
#include "lib/telemetry/deadline_watch.h"
#include "lib/telemetry/host_text.h"

namespace paceline::telemetry {
namespace {

constexpr const char* kJson = "application/json";

// What came, or why nothing did.
struct Answer {
  std::optional<httplib::Response> head;
  std::string body;
  std::string problem;
};

template <class Client>
Answer Send(Client& client, const HttpCall& call, Duration timeout) {
  const auto wait = std::chrono::duration_cast<std::chrono::microseconds>(timeout);
  client.set_connection_timeout(wait);
  client.set_read_timeout(wait);
  client.set_write_timeout(wait);
  Answer answer;
  DeadlineWatch watch(timeout);
  client.set_socket_options([&watch](socket_t socket) { watch.Watch(socket); });
  const std::string late = fmt::format("the answer is not whole within {:g} s", ToSeconds(timeout));
  httplib::Request request;
  request.method = call.method;
  request.path = call.path;
  request.headers.insert(call.headers.begin(), call.headers.end());
  // The library would write an address of IPv6 without its brackets.
  if (!call.headers.contains("Host"))
    request.set_header("Host", HostPort(HostOf(call.host), call.port));
  if (call.method != "GET") {
    request.body = call.body;
    request.set_header("Content-Type", kJson);
  }
  request.content_receiver = [&](const char* data, size_t bytes, uint64_t, uint64_t) {
    if (answer.body.size() + bytes > limits::kHttpAnswerBytesMax)
      answer.problem = fmt::format("the answer is beyond {} bytes", limits::kHttpAnswerBytesMax);
    else if (watch.is_over())
      answer.problem = late;
    else
      answer.body.append(data, bytes);
    return answer.problem.empty();
  };
  httplib::Result result = client.send(request);
  // A body without a length ends with the connection, whoever ends it.
  if (watch.is_over() && answer.problem.empty()) answer.problem = late;
  if (result && answer.problem.empty()) {
    answer.head = std::move(*result);
  } else if (answer.problem.empty()) {
    answer.problem = httplib::to_string(result.error());
  }
  return answer;
}

StatusOr<std::string> Judge(Answer answer, const std::string& url, const std::string& why) {
  if (!answer.head)
    return Unavailable("{}: {}{}{}", url, answer.problem, why.empty() ? "" : ": ", why);
  const int status = answer.head->status;
  std::string text = std::move(answer.body);
  if (status == 200) return text;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (status == 404) return NotFound("{}: {}", url, text);
  if (status == 403) return PermissionDenied("{}: {}", url, text);
  if (status == 400) return InvalidArgument("{}: {}", url, text);
  if (status >= 500) return Unavailable("{}: {} {}", url, status, text);
  return FailedPrecondition("{}: {} {}", url, status, text);
}

}  // namespace

StatusOr<std::string> HttpSend(const HttpCall& call, Duration timeout) {
  const std::string host = HostOf(call.host);
  const std::string url =
      fmt::format("{}://{}{}", call.https ? "https" : "http", HostPort(host, call.port), call.path);
  if (!call.https) {
    httplib::ClientImpl client(host, call.port);
    return Judge(Send(client, call, timeout), url, "");
  }
  httplib::SSLClient client(host, call.port);
  // The library would compare the certificate with the host that is dialled; the hook has OpenSSL
  // itself verify what counts.
  client.enable_server_certificate_verification(false);
  PACELINE_RETURN_IF_ERROR(Annotate(call.https->set_up(client.ssl_context()), url));
  (void)call.https->why();
  Answer answer = Send(client, call, timeout);
  const std::string why = answer.head ? "" : call.https->why();
  return Judge(std::move(answer), url, why);
}

StatusOr<std::string> HttpGet(const std::string& host, int port, const std::string& path,
                              Duration timeout) {
  return HttpSend({.host = host, .port = port, .path = path}, timeout);
}

}  // namespace paceline::telemetry
