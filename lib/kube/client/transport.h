// Defines Transport: calls and streams with credentials, retries and limits, as callbacks.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/kube/client/client.h"
#include "lib/kube/client/credentials.h"
#include "lib/kube/client/curl_loop.h"
#include "lib/kube/client/transfer.h"

namespace paceline::kube {

// The part of a Client that handles may outlive. Thread-safe; callbacks run on the loop's thread.
class Transport {
 public:
  Transport(Config config, ClientOptions options);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // The answer, whatever its code; a Status if there was none.
  void StartCall(Request request, std::function<void(StatusOr<Response>)> done);
  // `end` gets OK when the server has ended it, the API's error for a code of 300 and more.
  uint64_t StartStream(Request request, std::optional<Duration> idle_timeout,
                       std::function<void(std::string_view)> bytes,
                       std::function<void(Status)> end);
  // One attempt, at another server, with the certificates of its config alone.
  uint64_t StartElsewhere(Config server, Request request, size_t body_max,
                          std::function<void(StatusOr<Response>)> done);
  void Cancel(uint64_t id);

  // Ends everything with Cancelled; nothing is accepted afterwards.
  void Shutdown();

  CurlLoop& loop() { return loop_; }
  const Config& config() const { return config_; }
  const ClientOptions& options() const { return options_; }
  double Chance();  // In [0, 1), on the loop's thread.

 private:
  struct Call;
  using Clock = std::chrono::steady_clock;

  void Admit(std::shared_ptr<Call> call);
  void Pump();
  void Attempt(const std::shared_ptr<Call>& call);
  void Send(const std::shared_ptr<Call>& call, const Config& server, const Identity& identity);
  void Ended(const std::shared_ptr<Call>& call, TransferResult result);
  // Whether the call will be attempted again.
  bool Retries(const std::shared_ptr<Call>& call, const TransferResult& result);
  void AttemptAfter(const std::shared_ptr<Call>& call, Duration delay);
  void Finish(std::shared_ptr<Call> call, StatusOr<Response> response);
  void RunPlugin();
  void PluginEnded(StatusOr<ExecCredential> credential);

  const Config config_;
  const ClientOptions options_;
  std::atomic<uint64_t> last_id_ = 0;
  std::atomic<bool> is_stopping_ = false;

  // Of the loop's thread.
  Credentials credentials_;
  std::map<uint64_t, std::shared_ptr<Call>> calls_;
  std::deque<std::shared_ptr<Call>> waiting_;               // For their turn.
  std::vector<std::shared_ptr<Call>> without_credentials_;  // Until the plugin has ended.
  std::thread plugin_;
  bool plugin_runs_ = false;
  int in_flight_ = 0;
  std::minstd_rand random_;

  CurlLoop loop_;  // Last: its thread ends before the rest goes.
};

}  // namespace paceline::kube
