#include "lib/telemetry/http_guard.h"

#include <algorithm>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "lib/base/lower_case.h"

namespace paceline::telemetry {
namespace {

std::string Header(const HttpRequest& request, const char* name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

bool IsPort(std::string_view text) {
  return text.size() <= 5 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "[::1]:80" gives "::1", "x:80" and "x" give "x"; empty for what is none of these.
std::string HostName(std::string_view host) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    if (end == std::string_view::npos) return "";
    const std::string_view rest = host.substr(end + 1);
    const bool is_good = rest.empty() || (rest.front() == ':' && IsPort(rest.substr(1)));
    return is_good ? std::string(host.substr(1, end - 1)) : "";
  }
  const size_t colon = host.find(':');
  if (colon == std::string_view::npos) return LowerCase(host);
  return IsPort(host.substr(colon + 1)) ? LowerCase(host.substr(0, colon)) : "";
}

bool IsAddress(const std::string& name) {
  in6_addr parsed{};
  return inet_pton(AF_INET, name.c_str(), &parsed) == 1 ||
         inet_pton(AF_INET6, name.c_str(), &parsed) == 1;
}

bool IsJson(const HttpRequest& request) {
  std::string type = LowerCase(Header(request, "content-type"));
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.pop_back();
  return type == "application/json";
}

}  // namespace

std::optional<HttpAnswer> RefuseForeign(const HttpRequest& request, const std::string& scheme,
                                        const std::vector<std::string>& host_names) {
  const std::string host = Header(request, "host");
  const std::string name = HostName(host);
  const bool is_ours =
      IsAddress(name) || name == "localhost" ||
      (!name.empty() && std::find(host_names.begin(), host_names.end(), name) != host_names.end());
  if (!is_ours) {
    return HttpAnswer{.status = 403,
                      .body = fmt::format("Host is none of ours: \"{}\", want an IP address, "
                                          "localhost or a name of this program\n",
                                          host)};
  }
  const bool has_origin = request.headers.contains("origin");
  if (has_origin && LowerCase(Header(request, "origin")) != scheme + "://" + LowerCase(host)) {
    return HttpAnswer{.status = 403,
                      .body = fmt::format("Origin is not allowed: \"{}\", want none or {}://{}\n",
                                          Header(request, "origin"), scheme, host)};
  }
  if (request.method != "GET" && !IsJson(request)) {
    return HttpAnswer{.status = 415,
                      .body = fmt::format("Content-Type is \"{}\", want application/json\n",
                                          Header(request, "content-type"))};
  }
  return std::nullopt;
}

}  // namespace paceline::telemetry
