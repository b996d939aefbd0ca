// Defines HttpSend and HttpGet, one request to one of our own endpoints.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX.

namespace paceline::telemetry {

// What makes a request an HTTPS one.
struct HttpsClientHooks {
  // Sets up what is shown to the server and how it is verified, its name included.
  std::function<Status(ssl_ctx_st*)> set_up;
  std::function<std::string()>
      why;  // Why TLS failed on the calling thread, forgotten with it; may be empty.
};

struct HttpCall {
  std::string host;
  int port = 0;
  std::string path;            // May carry a query, encoded.
  std::string method = "GET";  // Or "PUT" or "POST", which send `body`, JSON.
  std::string body = "";
  std::optional<HttpsClientHooks> https = std::nullopt;
  std::map<std::string, std::string> headers = {};
};

// The body of the answer. Blocks, at most for `timeout` from the first attempt to connect to the
// last byte of the body; only to look a name up may take longer. Thread-safe.
//
// Unavailable if nobody answers there, the answer does not end or is larger than
// limits::kHttpAnswerBytesMax, or it is 5xx, with the answer's text; NotFound for
// 404, PermissionDenied for 403, InvalidArgument for 400; FailedPrecondition for any other answer
// than 200.
StatusOr<std::string> HttpSend(const HttpCall& call, Duration timeout);

// GET in plain text.
StatusOr<std::string> HttpGet(const std::string& host, int port, const std::string& path,
                              Duration timeout);

}  // namespace paceline::telemetry
