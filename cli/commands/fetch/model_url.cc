#include "cli/commands/fetch/model_url.h"

#include <optional>
#include <string_view>

#include <arpa/inet.h>

#include "lib/process/read_file.h"

namespace paceline::commands {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

// "HOST", "HOST:PORT", "[IPV6]:PORT": the host, without brackets.
std::string HostIn(std::string_view authority) {
  if (authority.starts_with('[')) return std::string(authority.substr(1, authority.find(']') - 1));
  return std::string(authority.substr(0, authority.find(':')));
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace

StatusOr<kube::Config> ModelServer(const ModelUrl& url) {
  const std::string_view text = url.url;
  const bool is_https = text.starts_with(kHttps);
  const bool is_http = text.starts_with(kHttp);
  const std::string_view rest = text.substr(is_https ? kHttps.size() : is_http ? kHttp.size() : 0);
  const std::string_view authority = rest.substr(0, rest.find('/'));
  // What another reader of URLs might take for the end of the host is in none of ours.
  const bool is_plain = rest.find_first_of("@?#\\ \t\r\n") == std::string_view::npos;
  if ((!is_https && !is_http) || !is_plain || HostIn(authority).empty())
    return InvalidArgument("no address of a model: want --url=http[s]://HOST[:PORT][/PATH], got {}",
                           url.url);
  if (is_http && !url.certificate_authority.empty())
    return InvalidArgument("--certificate-authority needs https: {}", url.url);
  if (is_http && url.plain_text != PlainText::kAnywhere && !IsLoopback(HostIn(authority))) {
    return InvalidArgument(
        "want https: the job's token and its model would travel as plain text to {}; where nobody "
        "listens in between, say so with --plain-text",
        url.url);
  }
  if (!url.certificate_authority.empty()) {
    PACELINE_RETURN_IF_ERROR(Annotate(process::ReadFile(url.certificate_authority).status(),
                                      "--certificate-authority cannot be read"));
  }
  kube::Config server{.server = url.url};
  server.certificate_authority.file = url.certificate_authority;
  server.is_direct = is_http;  // Nor is it shown to a proxy.
  return server;
}

}  // namespace paceline::commands
