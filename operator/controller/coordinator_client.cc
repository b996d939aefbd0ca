#include "operator/controller/coordinator_client.h"

#include <chrono>
#include <memory>

#include <curl/curl.h>

namespace paceline::controller {
namespace {

constexpr size_t kAnswerMax = 4 << 20;

struct Closed {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

size_t Append(char* bytes, size_t size, size_t count, void* to) {
  auto* text = static_cast<std::string*>(to);
  if (text->size() + size * count > kAnswerMax) return 0;
  text->append(bytes, size * count);
  return size * count;
}

curl_blob Blob(const std::string& text) {
  return {.data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_NOCOPY};
}

}  // namespace

StatusOr<std::string> CallCoordinator(const CoordinatorAddress& address, const std::string& method,
                                      const std::string& path, const std::string& body,
                                      Duration timeout) {
  const std::unique_ptr<CURL, Closed> handle(curl_easy_init());
  if (handle == nullptr) return Internal("libcurl gave no handle");
  CURL* const curl = handle.get();
  const std::string host = address.host.find(':') == std::string::npos
                               ? address.host
                               : fmt::format("[{}]", address.host);  // IPv6.
  const std::string url =
      address.tls_name ? fmt::format("https://{}:{}{}", *address.tls_name, address.port, path)
                       : fmt::format("http://{}:{}{}", host, address.port, path);
  const std::unique_ptr<curl_slist, Closed> connect_to(
      curl_slist_append(nullptr, fmt::format("::{}:{}", host, address.port).c_str()));
  const std::unique_ptr<curl_slist, Closed> headers(
      curl_slist_append(nullptr, "Content-Type: application/json"));
  curl_blob authority = Blob(address.own.authority_certificate);
  curl_blob certificate = Blob(address.own.credential.certificate);
  curl_blob key = Blob(address.own.credential.key);
  std::string answer;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");  // A pod is never behind one.
  curl_easy_setopt(
      curl, CURLOPT_TIMEOUT_MS,
      static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
  if (!body.empty()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.c_str());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  }
  if (address.tls_name) {
    // The name is what the certificate is checked against; the connection goes to the pod.
    curl_easy_setopt(curl, CURLOPT_CONNECT_TO, connect_to.get());
    curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &authority);
    curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
    curl_easy_setopt(curl, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(curl, CURLOPT_SSLKEY_BLOB, &key);
  }
  const CURLcode code = curl_easy_perform(curl);
  if (code != CURLE_OK) {
    return Unavailable("coordinator does not answer at {}:{}: {}", host, address.port,
                       curl_easy_strerror(code));
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 500) return Unavailable("coordinator answered {}: {}", status, answer);
  if (status >= 400) return FailedPrecondition("coordinator answered {}: {}", status, answer);
  return answer;
}

}  // namespace paceline::controller
