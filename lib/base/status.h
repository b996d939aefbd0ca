// Defines Status and StatusOr<T>, gRPC's sixteen canonical codes with a message.
//
// The types are Abseil's; this header is the only place that knows. Messages are lower case,
// without a full stop, fixed words first and values last: "gradient length differs: got 3, want 2".
//
// Example:
//   StatusOr<Layout> ReadLayout(const std::string& path) {
//     PACELINE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
//     if (text.empty()) return InvalidArgument("layout is empty: {}", path);
//     ...
//   }
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>

namespace paceline {

using Status = absl::Status;
using StatusCode = absl::StatusCode;
template <class T>
using StatusOr = absl::StatusOr<T>;

inline Status OkStatus() { return absl::OkStatus(); }
inline Status MakeStatus(StatusCode code, const std::string& message) {
  return Status(code, message);
}
inline std::string Message(const Status& status) { return std::string(status.message()); }

#define PACELINE_DEFINE_STATUS(Name)                                                      \
  template <class... Args>                                                                \
  Status Name(fmt::format_string<Args...> format, Args&&... args) {                       \
    return Status(StatusCode::k##Name, fmt::format(format, std::forward<Args>(args)...)); \
  }
PACELINE_DEFINE_STATUS(InvalidArgument)  // The caller's values are wrong, whatever the state.
PACELINE_DEFINE_STATUS(
    FailedPrecondition)  // Right values, wrong state; do not retry before it changes.
PACELINE_DEFINE_STATUS(NotFound)
PACELINE_DEFINE_STATUS(AlreadyExists)
PACELINE_DEFINE_STATUS(PermissionDenied)
PACELINE_DEFINE_STATUS(ResourceExhausted)
PACELINE_DEFINE_STATUS(Aborted)  // A conflict; start the whole operation over.
PACELINE_DEFINE_STATUS(OutOfRange)
PACELINE_DEFINE_STATUS(Unimplemented)
PACELINE_DEFINE_STATUS(Internal)
PACELINE_DEFINE_STATUS(Unavailable)  // Retry with a backoff.
PACELINE_DEFINE_STATUS(DataLoss)
PACELINE_DEFINE_STATUS(DeadlineExceeded)
PACELINE_DEFINE_STATUS(Cancelled)
PACELINE_DEFINE_STATUS(Unauthenticated)
#undef PACELINE_DEFINE_STATUS

// Puts `context` before the message: "shard s4: connection refused". Leaves OK as it is, and keeps
// the details.
Status Annotate(const Status& status, const std::string& context);

// Attaches `text` to an error under `key`, for programs to read where the message is for people;
// replaces what was there. Leaves OK as it is.
Status WithDetail(Status status, std::string_view key, std::string_view text);

// What WithDetail attached, if anything.
std::optional<std::string> Detail(const Status& status, std::string_view key);

}  // namespace paceline

#define PACELINE_CONCAT_INNER(a, b) a##b
#define PACELINE_CONCAT(a, b) PACELINE_CONCAT_INNER(a, b)

#define PACELINE_RETURN_IF_ERROR(expression)                                        \
  do {                                                                              \
    if (::paceline::Status paceline_status = (expression); !paceline_status.ok()) { \
      return paceline_status;                                                       \
    }                                                                               \
  } while (false)

#define PACELINE_ASSIGN_OR_RETURN(declaration, expression)                                  \
  PACELINE_ASSIGN_OR_RETURN_INNER(PACELINE_CONCAT(paceline_result_, __LINE__), declaration, \
                                  expression)
#define PACELINE_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                            \
  if (!result.ok()) return result.status();                              \
  declaration = *std::move(result)
