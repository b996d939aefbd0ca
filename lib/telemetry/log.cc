#include "lib/telemetry/log.h"

#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "lib/base/json_text.h"
#include "lib/telemetry/clock.h"

namespace paceline::telemetry {
namespace {

constexpr std::pair<std::string_view, LogLevel> kLevels[] = {{"debug", LogLevel::kDebug},
                                                             {"info", LogLevel::kInfo},
                                                             {"warning", LogLevel::kWarning},
                                                             {"error", LogLevel::kError}};

std::string_view Word(LogLevel level) {
  for (const auto& [word, known] : kLevels) {
    if (known == level) return word;
  }
  return "error";
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// The options together with the logger made for them, replaced as one.
struct Logging {
  explicit Logging(LogOptions given)
      : options(std::move(given)),
        logger(options.program, std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger.set_pattern("%v");
    logger.set_level(SpdlogLevel(options.level));
    logger.flush_on(spdlog::level::trace);
  }
  LogOptions options;
  spdlog::logger logger;
};

std::mutex logging_mutex;

std::shared_ptr<Logging>& LoggingSlot() {
  // Never destroyed: threads may still log while main returns.
  static auto* const slot = new std::shared_ptr<Logging>(std::make_shared<Logging>(LogOptions{}));
  return *slot;
}

std::shared_ptr<Logging> CurrentLogging() {
  const std::lock_guard lock(logging_mutex);
  return LoggingSlot();
}

nlohmann::ordered_json ToJson(const LogValue& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::ordered_json {
        if constexpr (std::same_as<std::decay_t<decltype(held)>, double>) {
          // JSON has no word for them, and null would hide which it was.
          if (!std::isfinite(held)) return fmt::format("{}", held);
        }
        return held;
      },
      value.held());
}

std::string JsonLine(const LogOptions& options, std::string_view utc, LogLevel level,
                     std::string_view message, std::span<const LogField> fields) {
  nlohmann::ordered_json line;
  line["ts"] = utc;
  line["level"] = Word(level);
  if (!options.program.empty()) line["program"] = options.program;
  line["msg"] = message;
  for (const LogField& field : fields) line.emplace(field.key, ToJson(field.value));
  return JsonText(line);
}

bool NeedsQuotes(std::string_view text) {
  if (text.empty()) return true;
  for (const char c : text) {
    if (c == ' ' || c == '=' || c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) {
      return true;
    }
  }
  return false;
}

std::string ToText(const LogValue& value) {
  const auto* text = std::get_if<std::string>(&value.held());
  if (text != nullptr && !NeedsQuotes(*text)) return *text;
  return JsonText(ToJson(value));
}

std::string TextLine(const LogOptions& options, std::string_view utc, LogLevel level,
                     std::string_view message, std::span<const LogField> fields) {
  std::string line = fmt::format("{} {:<7} ", utc, Word(level));
  if (!options.program.empty()) line += options.program + ": ";
  line += message;
  for (const LogField& field : fields)
    line += fmt::format(" {}={}", field.key, ToText(field.value));
  return line;
}

}  // namespace

StatusOr<LogLevel> ParseLogLevel(std::string_view text) {
  for (const auto& [word, level] : kLevels) {
    if (word == text) return level;
  }
  return InvalidArgument("log level is unknown: got '{}', want debug, info, warning or error",
                         text);
}

StatusOr<LogFormat> ParseLogFormat(std::string_view text) {
  if (text == "text") return LogFormat::kText;
  if (text == "json") return LogFormat::kJson;
  return InvalidArgument("log format is unknown: got '{}', want text or json", text);
}

void ConfigureLog(LogOptions options) {
  auto configured = std::make_shared<Logging>(std::move(options));
  const std::lock_guard lock(logging_mutex);
  LoggingSlot() = std::move(configured);
}

std::string LogLine(const LogOptions& options, std::string_view utc, LogLevel level,
                    std::string_view message, std::span<const LogField> fields) {
  return options.format == LogFormat::kJson ? JsonLine(options, utc, level, message, fields)
                                            : TextLine(options, utc, level, message, fields);
}

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  const std::shared_ptr<Logging> logging = CurrentLogging();
  if (level < logging->options.level) return;
  const std::string line =
      LogLine(logging->options, UtcText(), level, message, {fields.begin(), fields.size()});
  logging->logger.log(SpdlogLevel(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace paceline::telemetry
