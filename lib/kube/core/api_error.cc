#include "lib/kube/core/api_error.h"

#include <algorithm>

namespace paceline::kube {
namespace {

constexpr std::string_view kDetail = "kube/api-error";
constexpr int64_t kRetrySecondsMax =
    int64_t{366} * 24 * 3600;  // More would not fit into a Duration.
constexpr Duration kRetryAfterMax = std::chrono::minutes(5);
constexpr size_t kMessageBytesMax = 2048;

const char* DefaultReason(int code) {
  switch (code) {
    case 400:
      return "BadRequest";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 405:
      return "MethodNotAllowed";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "RequestEntityTooLarge";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 503:
      return "ServiceUnavailable";
    case 504:
      return "Timeout";
    default:
      return code >= 500 ? "InternalError" : "Unknown";
  }
}

StatusCode CodeOf(const ApiError& error) {
  switch (error.code) {
    case 400:
    case 415:
    case 422:
      return StatusCode::kInvalidArgument;
    case 401:
      return StatusCode::kUnauthenticated;
    case 403:
      return StatusCode::kPermissionDenied;
    case 404:
      return StatusCode::kNotFound;
    case 405:
    case 406:
    case 501:
      return StatusCode::kUnimplemented;
    case 409:
      return error.reason == "AlreadyExists" ? StatusCode::kAlreadyExists : StatusCode::kAborted;
    case 410:
      return StatusCode::kOutOfRange;
    case 413:
    case 429:
      return StatusCode::kResourceExhausted;
    case 502:
    case 503:
      return StatusCode::kUnavailable;
    case 504:
      return StatusCode::kDeadlineExceeded;
    default:
      return error.code >= 500 ? StatusCode::kInternal : StatusCode::kUnknown;
  }
}

Json ToJson(const ApiError& error) {
  Json causes = Json::array();
  for (const ApiError::Cause& cause : error.causes) {
    causes.push_back(
        {{"reason", cause.reason}, {"message", cause.message}, {"field", cause.field}});
  }
  Json details = {{"kind", error.kind}, {"name", error.name}, {"causes", std::move(causes)}};
  if (error.retry_after) details["retryAfterNanos"] = error.retry_after->count();
  return {{"code", error.code},
          {"reason", error.reason},
          {"message", error.message},
          {"details", std::move(details)}};
}

bool Is(const Status& status, StatusCode code, int http) {
  if (status.code() != code) return false;
  const std::optional<ApiError> error = ApiErrorOf(status);
  return error.has_value() && error->code == http;
}

}  // namespace

ApiError ParseApiError(const Json& status) {
  ApiError error{.code = static_cast<int>(IntegerAt(status, "/code")),
                 .reason = StringAt(status, "/reason"),
                 .message = StringAt(status, "/message"),
                 .kind = StringAt(status, "/details/kind"),
                 .name = StringAt(status, "/details/name")};
  if (const int64_t seconds = IntegerAt(status, "/details/retryAfterSeconds"); seconds > 0) {
    error.retry_after = std::chrono::seconds(std::min(seconds, kRetrySecondsMax));
  }
  if (const int64_t nanos = IntegerAt(status, "/details/retryAfterNanos"); nanos > 0) {
    error.retry_after = Duration(nanos);
  }
  if (const Json* causes = Find(status, "/details/causes"); causes && causes->is_array()) {
    for (const Json& cause : *causes) {
      error.causes.push_back({.reason = StringAt(cause, "/reason"),
                              .message = StringAt(cause, "/message"),
                              .field = StringAt(cause, "/field")});
    }
  }
  if (error.reason.empty()) error.reason = DefaultReason(error.code);
  return error;
}

ApiError ParseApiError(int code, std::string_view body) {
  ApiError error;
  const StatusOr<Json> json = ParseJson(body);
  if (json.ok() && StringAt(*json, "/kind") == "Status") {
    error = ParseApiError(*json);
  } else {
    error.message = body.substr(0, std::min(body.find('\n'), kMessageBytesMax));
    error.reason = DefaultReason(code);
  }
  error.code = code;
  return error;
}

Status ToStatus(const ApiError& error) {
  const std::string message = error.message.empty()
                                  ? fmt::format("the API server answered {}", error.code)
                                  : error.message.substr(0, kMessageBytesMax);
  return WithDetail(MakeStatus(CodeOf(error), fmt::format("{}: {}", error.reason, message)),
                    kDetail, WriteJson(ToJson(error)));
}

std::optional<ApiError> ApiErrorOf(const Status& status) {
  const std::optional<std::string> held = Detail(status, kDetail);
  if (!held) return std::nullopt;
  const StatusOr<Json> json = ParseJson(*held);
  if (!json.ok()) return std::nullopt;
  return ParseApiError(*json);
}

bool IsConflict(const Status& status) { return Is(status, StatusCode::kAborted, 409); }
bool IsForbidden(const Status& status) { return Is(status, StatusCode::kPermissionDenied, 403); }
bool IsUnauthorized(const Status& status) { return Is(status, StatusCode::kUnauthenticated, 401); }
bool IsInvalid(const Status& status) { return Is(status, StatusCode::kInvalidArgument, 422); }
bool IsExpired(const Status& status) { return Is(status, StatusCode::kOutOfRange, 410); }
bool IsTooManyRequests(const Status& status) {
  return Is(status, StatusCode::kResourceExhausted, 429);
}

Duration RetryAfter(const Status& status) {
  const std::optional<ApiError> error = ApiErrorOf(status);
  if (!error || !error->retry_after) return Duration::zero();
  return std::min(*error->retry_after, kRetryAfterMax);
}

Status IgnoreNotFound(Status status) { return IsNotFound(status) ? OkStatus() : status; }

}  // namespace paceline::kube
