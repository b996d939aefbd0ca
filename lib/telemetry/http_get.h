// Defines HttpGet, one request to one of our own endpoints.
#pragma once

#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::telemetry {

// The body of `http://host:port/path` (`path` may carry a query, encoded). Blocks; connecting and
// each wait for bytes end after `timeout`. Thread-safe.
//
// Unavailable if nobody answers there or the answer is 5xx, with the answer's text; NotFound for
// 404; FailedPrecondition for any other answer than 200.
StatusOr<std::string> HttpGet(const std::string& host, int port, const std::string& path,
                              Duration timeout);

}  // namespace paceline::telemetry
