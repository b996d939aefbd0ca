#include "lib/base/rfc3339.h"

#include <chrono>

#include <fmt/format.h>

namespace paceline {
namespace {

// Takes `width` digits off the front. Nothing if there are other characters.
std::optional<int> TakeNumber(std::string_view& text, size_t width) {
  if (text.size() < width) return std::nullopt;
  int value = 0;
  for (char c : text.substr(0, width)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(width);
  return value;
}

bool Take(std::string_view& text, char wanted) {
  if (text.empty() || text[0] != wanted) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<Duration> TakeFraction(std::string_view& text) {
  if (text.empty() || text[0] != '.') return Duration(0);
  text.remove_prefix(1);
  int64_t nanoseconds = 0, unit = 100'000'000;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits, unit /= 10) {
    nanoseconds += (text[digits] - '0') * unit;
  }
  if (digits == 0 || digits > 9) return std::nullopt;
  text.remove_prefix(digits);
  return Duration(nanoseconds);
}

std::optional<Duration> TakeOffset(std::string_view& text) {
  if (Take(text, 'Z') || Take(text, 'z')) return Duration(0);
  if (text.empty() || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const int sign = text[0] == '+' ? 1 : -1;
  text.remove_prefix(1);
  const std::optional<int> hours = TakeNumber(text, 2);
  if (!hours || text.empty() || text[0] != ':') return std::nullopt;
  text.remove_prefix(1);
  const std::optional<int> minutes = TakeNumber(text, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return sign * (std::chrono::hours(*hours) + std::chrono::minutes(*minutes));
}

std::optional<std::chrono::sys_days> TakeDate(std::string_view& text) {
  const std::optional<int> year = TakeNumber(text, 4);
  if (!year || !Take(text, '-')) return std::nullopt;
  const std::optional<int> month = TakeNumber(text, 2);
  if (!month || !Take(text, '-')) return std::nullopt;
  const std::optional<int> day = TakeNumber(text, 2);
  if (!day || *year < 1970 || *year > 2200) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

// "2026-01-31T09:30:00".
std::string WholeSeconds(Time time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
  const auto days = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date{std::chrono::sys_days(days)};
  const int64_t second = (seconds - days).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     second / 3600, second / 60 % 60, second % 60);
}

int64_t FractionNanoseconds(Time time) {
  const Duration since_epoch = time.time_since_epoch();
  return (since_epoch - std::chrono::floor<std::chrono::seconds>(since_epoch)).count();
}

}  // namespace

std::string FormatTime(Time time) {
  const int64_t fraction = FractionNanoseconds(time);
  return WholeSeconds(time) + (fraction == 0 ? "" : fmt::format(".{:09}", fraction)) + "Z";
}

std::string FormatTimeMicros(Time time) {
  return fmt::format("{}.{:06}Z", WholeSeconds(time), FractionNanoseconds(time) / 1000);
}

std::optional<Time> ParseTime(std::string_view text) {
  const std::optional<std::chrono::sys_days> date = TakeDate(text);
  if (!date || !(Take(text, 'T') || Take(text, 't'))) return std::nullopt;
  const std::optional<int> hour = TakeNumber(text, 2);
  if (!hour || !Take(text, ':')) return std::nullopt;
  const std::optional<int> minute = TakeNumber(text, 2);
  if (!minute || !Take(text, ':')) return std::nullopt;
  const std::optional<int> second = TakeNumber(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  const std::optional<Duration> fraction = TakeFraction(text);
  if (!fraction) return std::nullopt;
  const std::optional<Duration> offset = TakeOffset(text);
  if (!offset || !text.empty()) return std::nullopt;
  return Time(date->time_since_epoch() + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
              std::chrono::seconds(*second) + *fraction - *offset);
}

}  // namespace paceline
