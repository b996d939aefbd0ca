#include "lib/job/manifest/values/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace paceline::job {
namespace {

template <size_t kSize>
bool IsOneOf(const std::string& text, const std::array<std::string_view, kSize>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// lower, Title or UPPER case of `word`, as YAML 1.1 allows.
bool IsWord(const std::string& text, std::string_view word) {
  std::string lower(word), title(word), upper(word);
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
  return text == lower || text == title || text == upper;
}

bool IsAnyWord(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return IsWord(text, word); });
}

bool AllDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<Node> ResolveInteger(std::string_view digits) {
  bool is_negative = false;
  std::string_view rest = digits;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    is_negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  int base = 10;
  if (rest.size() > 2 && rest[0] == '0') {
    const char mark = rest[1];
    base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    if (base != 10) rest.remove_prefix(2);
  }
  if (base == 10 && rest.size() > 1 && rest[0] == '0' && AllDigits(rest)) {
    base = 8;
    rest.remove_prefix(1);
  }
  if (rest.empty() || rest[0] == '-' || rest[0] == '+') return std::nullopt;
  const std::string number = (is_negative ? "-" : "") + std::string(rest);
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), value, base);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  return Node::Integer(value);
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool LooksLikeFloat(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) {
    std::string_view digits = text.substr(exponent + 1);
    if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
    if (!AllDigits(digits)) return false;
    text = text.substr(0, exponent);
  }
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return AllDigits(text);
  const std::string_view whole = text.substr(0, dot), fraction = text.substr(dot + 1);
  if (whole.empty()) return AllDigits(fraction);
  return AllDigits(whole) && (fraction.empty() || AllDigits(fraction));
}

}  // namespace

Node ResolveScalar(const std::string& text) {
  if (text.empty() || text == "~" || IsWord(text, "null")) return Node();
  if (IsAnyWord(text, {"true", "yes", "on", "y"})) return Node::Bool(true);
  if (IsAnyWord(text, {"false", "no", "off", "n"})) return Node::Bool(false);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (IsOneOf<6>(text, {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"}))
    return Node::Float(kInfinity);
  if (IsOneOf<3>(text, {"-.inf", "-.Inf", "-.INF"})) return Node::Float(-kInfinity);
  if (IsOneOf<3>(text, {".nan", ".NaN", ".NAN"})) {
    return Node::Float(std::numeric_limits<double>::quiet_NaN());
  }
  const bool may_be_number = text.find_first_of("0123456789") < 3 && text[0] != '_';
  if (!may_be_number) return Node::String(text);
  std::string digits = text;
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  if (std::optional<Node> integer = ResolveInteger(digits)) return *integer;
  if (LooksLikeFloat(digits)) {
    double value = 0;
    const char* begin = digits.data() + (digits[0] == '+' ? 1 : 0);
    const auto result = std::from_chars(begin, digits.data() + digits.size(), value);
    if (result.ec == std::errc::result_out_of_range) value = kInfinity;
    return Node::Float(value);
  }
  return Node::String(text);
}

}  // namespace paceline::job
