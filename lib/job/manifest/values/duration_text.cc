#include "lib/job/manifest/values/duration_text.h"

#include <cmath>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace paceline::job {
namespace {

constexpr size_t kDigitsMax = 10;
constexpr size_t kDecimalsMax = 6;
constexpr int64_t kMillion = 1'000'000;
constexpr int64_t kNanosecondsInSecond = 1'000'000'000;

struct Unit {
  std::string_view name;
  int64_t millionth;  // Nanoseconds.
};
constexpr Unit kUnits[] = {{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }

// Takes what is at the front of `text` and is of one kind.
template <class Is>
std::string_view TakeFront(std::string_view& text, Is is_of_it) {
  size_t size = 0;
  while (size < text.size() && is_of_it(text[size])) ++size;
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(size);
  return taken;
}

// Takes "12.5" off the front, in millionths.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  const std::string_view whole = TakeFront(text, IsDigit);
  if (whole.empty() || whole.size() > kDigitsMax) return std::nullopt;
  std::string_view decimals;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    decimals = TakeFront(text, IsDigit);
    if (decimals.empty() || decimals.size() > kDecimalsMax) return std::nullopt;
  }
  int64_t millionths = 0;
  for (const char digit : whole) millionths = millionths * 10 + (digit - '0');
  for (size_t i = 0; i < kDecimalsMax; ++i) {
    millionths = millionths * 10 + (i < decimals.size() ? decimals[i] - '0' : 0);
  }
  return millionths;
}

std::string Decimal(int64_t whole, int64_t millionths) {
  std::string text = fmt::format("{}.{:06}", whole, millionths);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::string DurationPattern() {
  std::string pattern = "^";
  for (const Unit& unit : kUnits) {
    pattern +=
        fmt::format("([0-9]{{1,{}}}([.][0-9]{{1,{}}})?{})?", kDigitsMax, kDecimalsMax, unit.name);
  }
  return pattern + "$";
}

std::optional<Duration> ParseDuration(std::string_view text) {
  if (text.size() < kDurationBytesMin || text.size() > kDurationBytesMax) return std::nullopt;
  int64_t sum = 0;  // Four of at most kDurationMax: far from overflow.
  bool is_too_long = false;
  const Unit* unit = std::begin(kUnits);
  while (!text.empty()) {
    const std::optional<int64_t> millionths = TakeNumber(text);
    const std::string_view name = TakeFront(text, IsLetter);
    while (unit != std::end(kUnits) && unit->name != name) ++unit;
    if (!millionths || unit == std::end(kUnits)) return std::nullopt;
    if (*millionths > kDurationMax.count() / unit->millionth) {
      is_too_long = true;
    } else {
      sum += *millionths * unit->millionth;
    }
    ++unit;
  }
  return is_too_long ? Duration::max() : Duration(sum);
}

std::string FormatDuration(Duration duration) {
  const int64_t seconds = duration.count() / kNanosecondsInSecond;
  const int64_t rest = duration.count() % kNanosecondsInSecond;
  constexpr int64_t kInMicrosecond = kNanosecondsInSecond / kMillion;
  if (rest == 0 || (seconds > 0 && rest % kInMicrosecond == 0)) {
    return Decimal(seconds, rest / kInMicrosecond) + "s";
  }
  return (seconds > 0 ? fmt::format("{}s", seconds) : "") +
         Decimal(rest / kMillion, rest % kMillion) + "ms";
}

double SecondsOf(Duration duration) {
  const int64_t rest = duration.count() % kNanosecondsInSecond;
  return static_cast<double>(duration.count() / kNanosecondsInSecond) +
         static_cast<double>(rest) / static_cast<double>(kNanosecondsInSecond);
}

Duration NearestDuration(double seconds) {
  const double whole = std::trunc(seconds);
  const double rest = (seconds - whole) * static_cast<double>(kNanosecondsInSecond);
  return Duration(static_cast<int64_t>(whole) * kNanosecondsInSecond + std::llround(rest));
}

}  // namespace paceline::job
