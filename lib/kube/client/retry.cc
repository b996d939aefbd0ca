#include "lib/kube/client/retry.h"

#include <algorithm>

#include "lib/kube/core/api_error.h"

namespace paceline::kube {
namespace {

constexpr int kDoublingsMax = 30;

Duration Backoff(int attempt, const ClientOptions& options, double chance) {
  const double factor = static_cast<double>(1 << std::min(attempt - 1, kDoublingsMax));
  const double seconds =
      std::min(ToSeconds(options.backoff_min) * factor, ToSeconds(options.backoff_max));
  return Seconds(seconds * (0.5 + chance));
}

bool IsPassing(int code) { return code == 500 || code == 502 || code == 503 || code == 504; }

}  // namespace

std::optional<Duration> RetryDelay(const FailedAttempt& attempt, bool is_repeatable,
                                   const ClientOptions& options, double chance) {
  if (attempt.number >= options.attempts_max || attempt.is_hopeless) return std::nullopt;
  // The server says that it did nothing. Without Retry-After a 429 is an answer: an eviction that a
  // disruption budget forbids.
  if (attempt.retry_after && (attempt.code == 429 || attempt.code == 503)) {
    return *attempt.retry_after + Seconds(0.2 * chance * ToSeconds(*attempt.retry_after));
  }
  const bool may_help = attempt.code == 0 || IsPassing(attempt.code);
  const bool is_harmless = is_repeatable || (attempt.code == 0 && !attempt.was_sent);
  if (!may_help || !is_harmless) return std::nullopt;
  return Backoff(attempt.number, options, chance);
}

std::optional<Duration> ParseRetryAfter(const std::string& value) {
  if (value.empty() || value.size() > 6 ||
      value.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::chrono::seconds(std::stoi(value));
}

std::optional<Duration> RetryAfterOf(const std::map<std::string, std::string>& headers) {
  const auto header = headers.find("retry-after");
  return header == headers.end() ? std::nullopt : ParseRetryAfter(header->second);
}

Status ErrorOf(const Response& response) {
  ApiError error = ParseApiError(response.code, response.body);
  if (const auto asked = RetryAfterOf(response.headers)) error.retry_after = asked;
  return ToStatus(error);
}

}  // namespace paceline::kube
