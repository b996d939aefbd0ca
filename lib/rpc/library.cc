#include "lib/rpc/library.h"

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include "lib/telemetry/log.h"

namespace paceline::rpc {
namespace {

using std::chrono::steady_clock;

// A peer that tries again and again is refused for the same reason each time.
constexpr auto kSameWordPeriod = std::chrono::seconds(10);
constexpr size_t kWordsMax = 1000;

bool IsDue(const std::string& message) {
  static std::mutex mutex;
  // Never destroyed: gRPC's threads still log while main returns.
  static auto& said = *new std::map<std::string, steady_clock::time_point>;
  const auto now = steady_clock::now();
  std::lock_guard lock(mutex);
  if (said.size() >= kWordsMax) said.clear();
  const auto [last, is_new] = said.try_emplace(message, now);
  if (!is_new && now - last->second < kSameWordPeriod) return false;
  last->second = now;
  return true;
}

void LogAsOurs(gpr_log_func_args* said) {
  using telemetry::LogLevel;
  if (!IsDue(said->message)) return;
  const LogLevel level = said->severity == GPR_LOG_SEVERITY_ERROR  ? LogLevel::kWarning
                         : said->severity == GPR_LOG_SEVERITY_INFO ? LogLevel::kInfo
                                                                   : LogLevel::kDebug;
  telemetry::Log(level, "gRPC", {{"reason", said->message}});
}

}  // namespace

void KeepLibraryStarted() {
  static const bool is_started = [] {
    gpr_set_log_function(LogAsOurs);
    grpc_init();
    return true;
  }();
  (void)is_started;
}

}  // namespace paceline::rpc
