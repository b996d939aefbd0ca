#include "lib/job/manifest/values/duration_field.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "lib/base/lower_case.h"
#include "lib/job/manifest/values/duration_text.h"

namespace paceline::job {
namespace {

constexpr double kExact = 9007199254740992.0;  // Up to here each whole number has its own double.

bool Fits(Duration duration, Grain grain) {
  return duration <= kDurationMax &&
         (grain == Grain::kNanoseconds || duration % std::chrono::seconds(1) == Duration(0));
}

// Without spaces and in small letters; seconds where it names no unit.
std::string Mended(const std::string& text) {
  std::string mended;
  if (text.size() > kDurationBytesMax) return mended;
  for (const char c : text) {
    if (c != ' ') mended += LowerCase(c);
  }
  const bool has_unit = mended.find_first_not_of("0123456789.") != std::string::npos;
  return has_unit ? mended : mended + "s";
}

// How to write what was probably meant; empty if that cannot be told.
std::string Hint(const Node& node, Grain grain) {
  std::string text;
  if (node.kind == Node::Kind::kString) {
    text = Mended(node.text);
  } else if (node.kind == Node::Kind::kFloat && node.number > 0 &&
             node.number < SecondsOf(kDurationMax)) {
    text = FormatDuration(NearestDuration(node.number));
  }
  const std::optional<Duration> duration = ParseDuration(text);
  return duration && *duration > Duration(0) && Fits(*duration, grain)
             ? fmt::format("; write {}", text)
             : "";
}

}  // namespace

std::string_view DurationForm(Grain grain) {
  return grain == Grain::kWholeSeconds ? "whole seconds, also as a duration such as 1h30m or 90s"
                                       : "whole seconds or a duration such as 1h30m, 90s or 500ms";
}

bool IsWholeNumber(const Node& node) {
  return node.kind == Node::Kind::kInteger ||
         (node.kind == Node::Kind::kFloat && std::isfinite(node.number) &&
          std::trunc(node.number) == node.number);
}

StatusOr<Duration> ReadDuration(const Node& node, Grain grain) {
  if (node.kind == Node::Kind::kString) {
    const std::optional<Duration> duration = ParseDuration(node.text);
    if (duration && Fits(*duration, grain)) return *duration;
    if (duration && *duration > kDurationMax) {
      return InvalidArgument("must be at most {}: got {}", FormatDuration(kDurationMax),
                             Describe(node));
    }
  }
  return InvalidArgument("must be {}: got {}{}", DurationForm(grain), Describe(node),
                         Hint(node, grain));
}

Node WriteDuration(double seconds) {
  if (std::trunc(seconds) == seconds && std::abs(seconds) <= kExact) {
    return Node::Integer(static_cast<int64_t>(seconds));
  }
  if (seconds > 0 && seconds < SecondsOf(kDurationMax)) {
    return Node::String(FormatDuration(NearestDuration(seconds)));
  }
  return Node::Float(seconds);
}

}  // namespace paceline::job
