// Defines RefuseForeign: keeps web pages from making calls that only programs should make.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/telemetry/http_endpoint.h"

namespace paceline::telemetry {

// What to answer to a request that a page in somebody's browser could have made, or nothing.
//
// - 403 if its Host is missing or none of ours: an IP address, localhost, or one of `host_names`
//   (lower case, without a port). A page whose name was made to resolve to our address (DNS
//   rebinding) still sends its own name.
// - 403 if it has an Origin other than its own Host over `scheme` ("http" or "https").
// - 415 if it is no GET and its Content-Type is not application/json, which no page of another
//   origin may send without asking first.
std::optional<HttpAnswer> RefuseForeign(const HttpRequest& request, const std::string& scheme,
                                        const std::vector<std::string>& host_names);

}  // namespace paceline::telemetry
