#include "cli/commands/coordinator_api.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/local/job_folder.h"
#include "lib/process/read_file.h"
#include "lib/telemetry/access_token.h"
#include "lib/tls/certificate.h"
#include "lib/tls/folder.h"
#include "lib/tls/sessions.h"

namespace paceline::commands {
namespace {

namespace fs = std::filesystem;

constexpr Duration kTimeout = std::chrono::seconds(5);

struct Url {
  bool is_https = false;
  std::string host;
  int port = 0;
};

std::optional<Url> ParseUrl(std::string_view text) {
  Url url;
  url.is_https = text.starts_with("https://");
  if (!url.is_https && !text.starts_with("http://")) return std::nullopt;
  text.remove_prefix(url.is_https ? 8 : 7);
  while (text.ends_with('/')) text.remove_suffix(1);
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  url.host = text.substr(0, colon);
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data() + colon + 1, end, url.port);
  if (error != std::errc() || parsed != end || url.port < 1 || url.port > 65535)
    return std::nullopt;
  return url;
}

// "ps-0.digits.default" of the certificate that names "operator.digits.default".
StatusOr<std::string> PeerName(const tls::TlsFolder& folder) {
  PACELINE_ASSIGN_OR_RETURN(const tls::TlsFiles files, tls::ReadTlsFolder(folder));
  PACELINE_ASSIGN_OR_RETURN(const tls::Certificate own,
                            tls::ReadCertificate(files.credential.certificate));
  for (const std::string& name : own.dns_names) {
    if (const size_t dot = name.find('.'); dot != std::string::npos)
      return "ps-0" + name.substr(dot);
  }
  return InvalidArgument("{} names no process", folder.certificate_file());
}

}  // namespace

StatusOr<CoordinatorApi> CoordinatorApi::OfRun(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder + "/job.json", error)) return NotFound("no run's folder: {}", folder);
  const StatusOr<std::string> url = process::ReadFile(folder + "/" + local::kUrlFileName);
  if (!url.ok()) return NotFound("its coordinator does not answer yet: {}", folder);
  return OfUrl(url->substr(0, url->find('\n')), "");
}

StatusOr<CoordinatorApi> CoordinatorApi::ControlOfRun(const std::string& folder) {
  PACELINE_RETURN_IF_ERROR(OfRun(folder).status());
  const StatusOr<std::string> text = process::ReadFile(folder + "/" + local::kControlFileName);
  if (!text.ok()) return NotFound("its coordinator does not answer yet: {}", folder);
  const size_t line = text->find('\n');
  const std::string url = text->substr(0, line);
  std::string file = line == std::string::npos ? "" : text->substr(line + 1);
  while (file.ends_with('\n')) file.pop_back();
  PACELINE_ASSIGN_OR_RETURN(const std::string token, telemetry::AccessToken(file).Read());
  PACELINE_ASSIGN_OR_RETURN(CoordinatorApi api, OfUrl(url, ""));
  api.base_.headers = {{telemetry::kTokenHeader, token}};
  return api;
}

StatusOr<CoordinatorApi> CoordinatorApi::OfUrl(const std::string& url,
                                               const std::string& tls_folder) {
  const std::optional<Url> parsed = ParseUrl(url);
  if (!parsed)
    return InvalidArgument("not an address: {}, want http://HOST:PORT or https://HOST:PORT", url);
  if (parsed->is_https == tls_folder.empty()) {
    return InvalidArgument(
        "{}: {}", url, parsed->is_https ? "https needs --tls-folder" : "--tls-folder means https");
  }
  telemetry::HttpCall base{.host = parsed->host, .port = parsed->port};
  if (parsed->is_https) {
    const tls::TlsFolder folder{tls_folder};
    PACELINE_ASSIGN_OR_RETURN(const std::string peer, PeerName(folder));
    base.https = telemetry::HttpsClientHooks{
        .set_up = [folder,
                   peer](ssl_ctx_st* context) { return tls::SetUpClient(context, folder, peer); },
        .why = tls::TakeError};
  }
  return CoordinatorApi(std::move(base));
}

StatusOr<std::string> CoordinatorApi::Get(const std::string& path) const {
  telemetry::HttpCall call = base_;
  call.path = path;
  return telemetry::HttpSend(call, kTimeout);
}

Status CoordinatorApi::Put(const std::string& path, const std::string& body) const {
  telemetry::HttpCall call = base_;
  call.path = path;
  call.method = "PUT";
  call.body = body;
  return telemetry::HttpSend(call, kTimeout).status();
}

StatusOr<std::string> NewestRun(const std::string& runs) {
  std::error_code error;
  std::optional<fs::path> newest;
  fs::file_time_type newest_time;
  for (const fs::directory_entry& entry : fs::directory_iterator(runs, error)) {
    const fs::file_time_type time = fs::last_write_time(entry.path() / "job.json", error);
    if (error || (newest && time <= newest_time)) continue;
    newest = entry.path();
    newest_time = time;
  }
  if (!newest) return NotFound("no run under {}", runs);
  return newest->string();
}

}  // namespace paceline::commands
