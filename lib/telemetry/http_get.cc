#include "lib/telemetry/http_get.h"

#include <chrono>

#include <httplib.h>

namespace paceline::telemetry {

StatusOr<std::string> HttpGet(const std::string& host, int port, const std::string& path,
                              Duration timeout) {
  httplib::Client client(host, port);
  const auto wait = std::chrono::duration_cast<std::chrono::microseconds>(timeout);
  client.set_connection_timeout(wait);
  client.set_read_timeout(wait);
  client.set_write_timeout(wait);
  const httplib::Result result = client.Get(path);
  const std::string url = fmt::format("http://{}:{}{}", host, port, path);
  if (!result) return Unavailable("{}: {}", url, httplib::to_string(result.error()));
  if (result->status == 200) return result->body;
  if (result->status == 404) return NotFound("{}: {}", url, result->body);
  if (result->status >= 500) return Unavailable("{}: {} {}", url, result->status, result->body);
  return FailedPrecondition("{}: {} {}", url, result->status, result->body);
}

}  // namespace paceline::telemetry
