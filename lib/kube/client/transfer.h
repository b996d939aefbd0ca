// Defines Transfer: one HTTP exchange on a CurlLoop.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <curl/curl.h>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/kube/client/config.h"
#include "lib/kube/client/credentials.h"
#include "lib/kube/client/curl_loop.h"
#include "lib/kube/core/request.h"

namespace paceline::kube {

struct TransferOptions {
  std::string user_agent;
  Duration connect_timeout = Seconds(10);
  std::optional<Duration> deadline;      // Of the whole exchange.
  std::optional<Duration> idle_timeout;  // Without a byte that long it counts as dead.
  std::optional<size_t> body_max;        // A longer answer is none.
  bool keeps_connection = true;          // For the next exchange with that server.
};

struct TransferResult {
  int code = 0;  // HTTP; 0: no answer.
  std::map<std::string, std::string> headers;
  std::string body;       // Empty where bytes were handed on.
  Status status;          // Why there is no (whole) answer; OK else, whatever the code.
  bool was_sent = false;  // Some of the request.
  bool is_hopeless = false;
  double seconds = 0;
};

// On the loop's thread only. Destruction cancels it.
class Transfer {
 public:
  // `request` outlives it. `bytes`, where given, gets the body of an answer below 300 as it comes.
  Transfer(CurlLoop& loop, const Config& config, const Request& request, const Identity& identity,
           const TransferOptions& options, std::function<void(std::string_view)> bytes,
           std::function<void(TransferResult)> done);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

 private:
  static size_t WriteBody(char* bytes, size_t size, size_t count, void* self);
  static size_t WriteHeader(char* bytes, size_t size, size_t count, void* self);

  void SetUrl(const Config& config, const Request& request);
  void SetTls(const Config& config, const Identity& identity);
  void SetHeaders(const Config& config, const Request& request, const Identity& identity,
                  const std::string& user_agent);
  void SetLimits(const TransferOptions& options);
  void AddHeader(const std::string& name, const std::string& value);
  void WatchIdleness(Duration left);
  long Code() const;
  void Ended(CURLcode code);

  CurlLoop& loop_;
  CURL* easy_;
  curl_slist* headers_ = nullptr;
  curl_slist* connect_to_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::function<void(std::string_view)> bytes_;
  std::function<void(TransferResult)> done_;
  TransferResult result_;
  std::string host_;  // For messages.
  bool is_running_ = true;
  std::optional<size_t> body_max_;
  bool is_too_long_ = false;
  Duration idle_timeout_{};
  std::chrono::steady_clock::time_point last_byte_ = std::chrono::steady_clock::now();
  EventLoop::TimerId idle_timer_ = 0;
};

}  // namespace paceline::kube
