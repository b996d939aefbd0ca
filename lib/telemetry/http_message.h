// Reads HTTP/1.1 requests and writes answers, on bytes alone.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lib/telemetry/http_endpoint.h"

namespace paceline::telemetry {

// What a request says before its body.
struct HttpHead {
  HttpRequest request;  // Without its body.
  size_t body_bytes = 0;
  bool is_last = false;  // The client wants the connection closed after the answer.
  bool waits = false;    // "Expect: 100-continue".
};

// Where the head ends, behind its empty line; nothing if it is not all there. Looks no further back
// than needed if the first `seen` bytes held no end.
std::optional<size_t> FindHeadEnd(std::string_view bytes, size_t seen);

// What is wrong with a request, as an answer.
using HttpRefusal = HttpAnswer;

// Reads a head, up to and with its empty line. A refusal for what is not HTTP/1.0 or 1.1, for two
// lengths of a body, for a length in chunks: this server wants to know how much will come.
std::optional<HttpRefusal> ReadHead(std::string_view bytes, HttpHead& head);

// The answer's bytes. `is_last` says that the connection closes behind it; of a HEAD request the
// body is left out.
std::string WriteAnswer(const HttpAnswer& answer, std::string_view method, bool is_last);

}  // namespace paceline::telemetry
