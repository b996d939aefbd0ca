// Defines Log: one line per event on stderr, a constant message with fields.
//
// The message never contains values, so that it can be searched for; the values are fields.
//
// Example:
//   ConfigureLog({.program = "paceline-ps", .level = LogLevel::kInfo, .format = LogFormat::kJson});
//   Log(LogLevel::kWarning, "worker declared lost", {{"worker", worker}, {"reason", "silent"}});
//   // {"ts":"2024-05-01T12:34:56.789Z","level":"warning","program":"paceline-ps",
//   //  "msg":"worker declared lost","worker":"w3","reason":"silent"}
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

#include "lib/base/status.h"

namespace paceline::telemetry {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

// "debug", "info", "warning", "error". InvalidArgument names the choices.
StatusOr<LogLevel> ParseLogLevel(std::string_view text);
// "text", "json". InvalidArgument names the choices.
StatusOr<LogFormat> ParseLogFormat(std::string_view text);

// A field's value: numbers and booleans stay such in JSON; whatever else fmt can write is text.
class LogValue {
 public:
  template <class T>
  LogValue(const T& value) : held_(Hold(value)) {}  // NOLINT(google-explicit-constructor)

  using Held = std::variant<bool, int64_t, uint64_t, double, std::string>;
  const Held& held() const { return held_; }

 private:
  template <class T>
  static Held Hold(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      return value;
    } else if constexpr (std::signed_integral<T>) {
      return static_cast<int64_t>(value);
    } else if constexpr (std::unsigned_integral<T>) {
      return static_cast<uint64_t>(value);
    } else if constexpr (std::floating_point<T>) {
      return static_cast<double>(value);
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      return std::string(std::string_view(value));
    } else {
      return fmt::format("{}", value);
    }
  }

  Held held_;
};

// The keys ts, level, program and msg are taken; a field of such a name is left out.
struct LogField {
  std::string_view key;
  LogValue value;
};

struct LogOptions {
  std::string program;               // Stands in every line, where not empty.
  LogLevel level = LogLevel::kInfo;  // Lines below it are left out.
  LogFormat format = LogFormat::kText;
};

// Sets how every later line looks. Call in main, before other threads log; what is logged before
// has the defaults of LogOptions. Thread-safe.
void ConfigureLog(LogOptions options);

// Writes one line, in one write, to stderr. Thread-safe. Blocks as stderr does; never fails.
void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

// The line that Log writes, without its end, at the given time of day.
std::string LogLine(const LogOptions& options, std::string_view utc, LogLevel level,
                    std::string_view message, std::span<const LogField> fields);

}  // namespace paceline::telemetry
