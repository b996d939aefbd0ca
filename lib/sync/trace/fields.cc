#include "lib/sync/trace/fields.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace paceline::sync {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr size_t kDecimals = 9;

}  // namespace

std::string FormatSeconds(Duration duration) {
  // Unsigned, because the smallest duration has no positive counterpart.
  const bool is_negative = duration.count() < 0;
  const auto count = static_cast<uint64_t>(duration.count());
  const uint64_t magnitude = is_negative ? 0 - count : count;
  std::string text =
      fmt::format("{}{}.{:09}", is_negative ? "-" : "", magnitude / kNanosecondsPerSecond,
                  magnitude % kNanosecondsPerSecond);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

bool ReadValue(std::string_view text, Duration& value) {
  const bool is_negative = !text.empty() && text.front() == '-';
  if (is_negative) text.remove_prefix(1);
  const size_t dot = text.find('.');
  uint64_t seconds = 0;
  if (!ReadValue(text.substr(0, dot), seconds)) return false;
  uint64_t nanoseconds = 0;
  if (dot != std::string_view::npos) {
    std::string decimals(text.substr(dot + 1));
    if (decimals.empty() || decimals.size() > kDecimals) return false;
    decimals.resize(kDecimals, '0');
    if (!ReadValue(decimals, nanoseconds)) return false;
  }
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (seconds > (kMost - nanoseconds) / kNanosecondsPerSecond) return false;
  const auto count = static_cast<int64_t>(seconds * kNanosecondsPerSecond + nanoseconds);
  value = Duration(is_negative ? -count : count);
  return true;
}

void AddTo(FieldWriter& line, const OuterStep& step) {
  line.Add("outer-lr", step.learning_rate).Add("outer-momentum", step.momentum);
  if (step.is_nesterov) line.AddWord("outer-nesterov");
}

std::optional<OuterStep> TakeOuter(Fields& fields) {
  OuterStep step;
  if (!fields.Take("outer-lr", step.learning_rate)) return std::nullopt;
  step.momentum = fields.Require<double>("outer-momentum");
  step.is_nesterov = fields.Flag("outer-nesterov");
  return step;
}

Fields::Fields(std::string_view line) {
  while (true) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return;
    line.remove_prefix(begin);
    const size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    fields_.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

bool Fields::Flag(std::string_view word) {
  const auto found = std::find(fields_.begin(), fields_.end(), word);
  if (found == fields_.end()) return false;
  fields_.erase(found);
  return true;
}

void Fields::Fail(const std::string& message) {
  if (status_.ok()) status_ = InvalidArgument("{}", message);
}

Status Fields::Finish() {
  if (!fields_.empty()) Fail(fmt::format("unknown field: {}", fields_.front()));
  return status_;
}

std::optional<std::string_view> Fields::Find(std::string_view key) {
  for (auto field = fields_.begin(); field != fields_.end(); ++field) {
    if (field->size() > key.size() && field->substr(0, key.size()) == key &&
        (*field)[key.size()] == '=') {
      const std::string_view value = field->substr(key.size() + 1);
      fields_.erase(field);
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace paceline::sync
