// Carries what the API server said about a failed request inside a Status.
//
// Calls return Status and StatusOr with a canonical code and a readable message; who wants to know
// more asks the predicates, or ApiErrorOf for all of it.
//
// clang-format off
// | HTTP, reason             | code               | HTTP, reason           | code              |
// |--------------------------|--------------------|------------------------|-------------------|
// | 400, 415, 422 Invalid    | InvalidArgument    | 409 Conflict           | Aborted           |
// | 401 Unauthorized         | Unauthenticated    | 410 Expired, Gone      | OutOfRange        |
// | 403 Forbidden            | PermissionDenied   | 413, 429               | ResourceExhausted |
// | 404 NotFound             | NotFound           | 500                    | Internal          |
// | 405, 406, 501            | Unimplemented      | 502, 503               | Unavailable       |
// | 409 AlreadyExists        | AlreadyExists      | 504, client's deadline | DeadlineExceeded  |
// clang-format on
//
// No answer at all (refused, reset, TLS) is Unavailable and has no ApiError.
//
// Example:
//   StatusOr<Json> pod = client.Call(Get(Pods(), key));
//   if (IsNotFound(pod.status())) ...   // comes with Status
//   if (auto error = ApiErrorOf(pod.status())) Log(..., {{"reason", error->reason}});
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/kube/core/json.h"

namespace paceline::kube {

struct ApiError {
  struct Cause {
    std::string reason;  // "FieldValueInvalid"
    std::string message;
    std::string field;  // "spec.replicas"
  };

  int code = 0;        // HTTP: 404.
  std::string reason;  // The API's word: "NotFound".
  std::string message;
  std::string kind;  // Of the object in question, where told: "pods".
  std::string name;
  std::vector<Cause> causes;
  std::optional<Duration> retry_after;  // What the server asked for.
};

// From the body of an answer with that HTTP code; a body that is no API Status gives its first
// line.
ApiError ParseApiError(int code, std::string_view body);
// From an object of kind Status, as in a watch's ERROR event.
ApiError ParseApiError(const Json& status);

// With the code of the table above; ApiErrorOf gives the error back.
Status ToStatus(const ApiError& error);

// Nothing if the server did not answer, or for OK.
std::optional<ApiError> ApiErrorOf(const Status& status);

// IsNotFound(status) and IsAlreadyExists(status) come with Status itself, by its code.
bool IsConflict(const Status& status);  // Someone else wrote first, or a precondition failed.
bool IsForbidden(const Status& status);
bool IsUnauthorized(const Status& status);
bool IsInvalid(const Status& status);          // 422: the object breaks a rule.
bool IsExpired(const Status& status);          // 410: list again.
bool IsTooManyRequests(const Status& status);  // 429; also an eviction that a budget forbids.

// How long the server asks to be left alone; zero if it does not. At most five minutes: a proxy
// that asks for a day does not stop an operator for one.
Duration RetryAfter(const Status& status);

// OK in place of NotFound: what had to be gone is gone.
Status IgnoreNotFound(Status status);

}  // namespace paceline::kube
