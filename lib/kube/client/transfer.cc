#include "lib/kube/client/transfer.h"

#include <algorithm>

#include <openssl/ssl.h>

#include "lib/base/check.h"
#include "lib/base/lower_case.h"

namespace paceline::kube {
namespace {

constexpr long kKeepAliveSeconds = 30;
constexpr long kCaCacheSeconds = 60;  // How late a rotated CA file is seen.

long Milliseconds(Duration duration) {
  return std::max<long>(
      1, static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(duration).count()));
}

std::string Trimmed(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return "";
  return std::string(text.substr(start, text.find_last_not_of(" \t\r\n") - start + 1));
}

bool IsHopeless(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
      return true;
    default:
      return false;
  }
}

class Url {
 public:
  explicit Url(const std::string& text) : url_(curl_url()) {
    curl_url_set(url_, CURLUPART_URL, text.c_str(), 0);
  }
  ~Url() { curl_url_cleanup(url_); }
  Url(const Url&) = delete;
  Url& operator=(const Url&) = delete;

  std::string Part(CURLUPart part) const {
    char* found = nullptr;
    if (curl_url_get(url_, part, &found, CURLU_DEFAULT_PORT) != CURLUE_OK) return "";
    std::string text = found;
    curl_free(found);
    return text;
  }
  std::string WithHost(const std::string& host) {
    curl_url_set(url_, CURLUPART_HOST, host.c_str(), 0);
    return Part(CURLUPART_URL);
  }

 private:
  CURLU* url_;
};

// curl copies the bytes.
void SetBlob(CURL* easy, CURLoption option, const std::string& bytes) {
  curl_blob blob{const_cast<char*>(bytes.data()), bytes.size(), CURL_BLOB_COPY};
  curl_easy_setopt(easy, option, &blob);
}

void SetFileOrBlob(CURL* easy, CURLoption file, CURLoption blob, const FileOrData& value) {
  if (!value.data.empty()) {
    SetBlob(easy, blob, value.data);
  } else if (!value.file.empty()) {
    curl_easy_setopt(easy, file, value.file.c_str());
  }
}

// libcurl has OpenSSL give back its buffers after each record and ask for them anew with the next.
// Kept, they are 34 KB a connection.
CURLcode KeepBuffers(CURL*, void* context, void*) {
  SSL_CTX_clear_mode(static_cast<SSL_CTX*>(context), SSL_MODE_RELEASE_BUFFERS);
  return CURLE_OK;
}

}  // namespace

Transfer::Transfer(CurlLoop& loop, const Config& config, const Request& request,
                   const Identity& identity, const TransferOptions& options,
                   std::function<void(std::string_view)> bytes,
                   std::function<void(TransferResult)> done)
    : loop_(loop),
      easy_(curl_easy_init()),
      bytes_(std::move(bytes)),
      done_(std::move(done)),
      host_(config.server) {
  PACELINE_CHECK(easy_ != nullptr, "libcurl has no memory");
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_.data());
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, WriteBody);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, WriteHeader);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  SetUrl(config, request);
  SetTls(config, identity);
  SetHeaders(config, request, identity, options.user_agent);
  SetLimits(options);
  loop_.Add(easy_, [this](CURLcode code) { Ended(code); });
}

Transfer::~Transfer() {
  if (is_running_) loop_.Remove(easy_);
  if (idle_timer_ != 0) loop_.Cancel(idle_timer_);
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
  curl_slist_free_all(connect_to_);
}

void Transfer::SetUrl(const Config& config, const Request& request) {
  std::string server = config.server;
  while (!server.empty() && server.back() == '/') server.pop_back();
  if (!config.tls_server_name.empty()) {
    // TLS names and verifies the host of the URL: give it the wanted name, and connect elsewhere.
    Url url(server);
    connect_to_ = curl_slist_append(
        nullptr,
        fmt::format("::{}:{}", url.Part(CURLUPART_HOST), url.Part(CURLUPART_PORT)).c_str());
    curl_easy_setopt(easy_, CURLOPT_CONNECT_TO, connect_to_);
    server = url.WithHost(config.tls_server_name);
    while (!server.empty() && server.back() == '/') server.pop_back();
  }
  curl_easy_setopt(easy_, CURLOPT_URL, (server + Target(request)).c_str());
  if (config.is_direct) {
    curl_easy_setopt(easy_, CURLOPT_PROXY, "");
  } else if (!config.proxy_url.empty()) {
    curl_easy_setopt(easy_, CURLOPT_PROXY, config.proxy_url.c_str());
  }
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  // Many connections instead of many streams on one: a stuck one does not hold up the others.
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  if (request.method == "GET") return;
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request.body.c_str());
  curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

void Transfer::SetTls(const Config& config, const Identity& identity) {
  SetFileOrBlob(easy_, CURLOPT_CAINFO, CURLOPT_CAINFO_BLOB, config.certificate_authority);
  SetFileOrBlob(easy_, CURLOPT_SSLCERT, CURLOPT_SSLCERT_BLOB, identity.client_certificate);
  SetFileOrBlob(easy_, CURLOPT_SSLKEY, CURLOPT_SSLKEY_BLOB, identity.client_key);
  curl_easy_setopt(easy_, CURLOPT_CA_CACHE_TIMEOUT, kCaCacheSeconds);
  curl_easy_setopt(easy_, CURLOPT_SSL_CTX_FUNCTION, &KeepBuffers);
  if (config.insecure_skip_tls_verify) {
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, 0L);
  }
}

void Transfer::AddHeader(const std::string& name, const std::string& value) {
  headers_ = curl_slist_append(headers_, (name + ": " + value).c_str());
}

void Transfer::SetHeaders(const Config& config, const Request& request, const Identity& identity,
                          const std::string& user_agent) {
  AddHeader("Accept", request.accept);
  if (!request.content_type.empty()) AddHeader("Content-Type", request.content_type);
  for (const auto& [name, value] : request.headers) AddHeader(name, value);
  headers_ = curl_slist_append(headers_, "Expect:");  // No round trip before the body.
  if (!identity.authorization.empty()) AddHeader("Authorization", identity.authorization);
  const Impersonation& as = config.impersonate;
  if (!as.user.empty()) AddHeader("Impersonate-User", as.user);
  if (!as.uid.empty()) AddHeader("Impersonate-Uid", as.uid);
  for (const std::string& group : as.groups) AddHeader("Impersonate-Group", group);
  for (const auto& [key, values] : as.extra) {
    for (const std::string& value : values) AddHeader("Impersonate-Extra-" + EncodeUrl(key), value);
  }
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
  curl_easy_setopt(easy_, CURLOPT_USERAGENT, user_agent.c_str());
  curl_easy_setopt(easy_, CURLOPT_ACCEPT_ENCODING, "gzip");
}

void Transfer::SetLimits(const TransferOptions& options) {
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(options.connect_timeout));
  if (options.deadline) {
    curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, Milliseconds(*options.deadline));
  }
  if (options.idle_timeout) {
    idle_timeout_ = *options.idle_timeout;
    WatchIdleness(idle_timeout_);
  }
  body_max_ = options.body_max;
  if (!options.keeps_connection) curl_easy_setopt(easy_, CURLOPT_FORBID_REUSE, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPINTVL, kKeepAliveSeconds);
}

// libcurl's own low-speed limit averages over seconds and is late by as many.
void Transfer::WatchIdleness(Duration left) {
  idle_timer_ = loop_.After(left, [this] {
    const Duration idle = std::chrono::steady_clock::now() - last_byte_;
    if (idle < idle_timeout_) return WatchIdleness(idle_timeout_ - idle);
    loop_.Remove(easy_);
    fmt::format_to_n(error_.data(), error_.size() - 1, "nothing came for {} s",
                     ToSeconds(idle_timeout_));
    Ended(CURLE_OPERATION_TIMEDOUT);
  });
}

long Transfer::Code() const {
  long code = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

size_t Transfer::WriteBody(char* bytes, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.last_byte_ = std::chrono::steady_clock::now();
  const std::string_view text(bytes, size * count);
  if (transfer.bytes_ && transfer.Code() < 300) {
    transfer.bytes_(text);
    return text.size();
  }
  std::string& body = transfer.result_.body;
  if (transfer.body_max_ && body.size() + text.size() > *transfer.body_max_) {
    transfer.is_too_long_ = true;
    return 0;  // Which ends it.
  }
  body.append(text);
  return text.size();
}

size_t Transfer::WriteHeader(char* bytes, size_t size, size_t count, void* self) {
  auto& result = static_cast<Transfer*>(self)->result_;
  const std::string_view line(bytes, size * count);
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    result.headers[LowerCase(line.substr(0, colon))] = Trimmed(line.substr(colon + 1));
  }
  return line.size();
}

void Transfer::Ended(CURLcode code) {
  is_running_ = false;
  result_.code = static_cast<int>(Code());
  long bytes_sent = 0;
  curl_easy_getinfo(easy_, CURLINFO_REQUEST_SIZE, &bytes_sent);
  result_.was_sent = bytes_sent > 0;
  curl_off_t microseconds = 0;
  curl_easy_getinfo(easy_, CURLINFO_TOTAL_TIME_T, &microseconds);
  result_.seconds = static_cast<double>(microseconds) * 1e-6;
  if (code != CURLE_OK) {
    result_.is_hopeless = IsHopeless(code);
    const char* why = error_[0] != '\0' ? error_.data() : curl_easy_strerror(code);
    result_.status = is_too_long_
                         ? Unavailable("{}: its answer has more than {} bytes", host_, *body_max_)
                     : code == CURLE_OPERATION_TIMEDOUT ? DeadlineExceeded("{}: {}", host_, why)
                                                        : Unavailable("{}: {}", host_, why);
  }
  // May destroy this.
  const auto done = std::move(done_);
  done(std::move(result_));
}

}  // namespace paceline::kube
