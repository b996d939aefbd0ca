// Defines Fields and FieldWriter: the words and key=value pairs of one line of a trace.
//
// Example:
//   Fields fields("push w0 #1 based-on=v0 non-finite");
//   fields.Next<std::string>("event");          // "push"
//   fields.Next<WorkerId>("worker");            // w0
//   fields.Flag("non-finite");                  // true
//   PACELINE_RETURN_IF_ERROR(fields.Finish());  // refuses what nobody took: "#1", "based-on=v0"
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/base/ids.h"
#include "lib/base/outer_step.h"
#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/sync/contract/words.h"

namespace paceline::sync {

// Seconds with as many decimals as the nanoseconds need; ReadValue gives the same duration back.
std::string FormatSeconds(Duration duration);

// Each reads the whole of `text` and says whether it could.
bool ReadValue(std::string_view text, Duration& value);
inline bool ReadValue(std::string_view text, std::string& value) {
  value = std::string(text);
  return true;
}
template <class T>
requires std::is_arithmetic_v<T>
bool ReadValue(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}
template <class Tag>
bool ReadValue(std::string_view text, Id<Tag>& value) {
  uint64_t number = 0;
  if (text.empty() || text[0] != Tag::kPrefix[0]) return false;
  if (!ReadValue(text.substr(1), number)) return false;
  value = Id<Tag>(number);
  return true;
}
template <HasWords E>
bool ReadValue(std::string_view text, E& value) {
  const std::optional<E> found = FromString<E>(text);
  if (found) value = *found;
  return found.has_value();
}
template <class T>
bool ReadValue(std::string_view text, std::optional<T>& value) {
  return ReadValue(text, value.emplace());
}
// "1,2.5,3": one at least.
template <class T>
bool ReadValue(std::string_view text, std::vector<T>& values) {
  values.clear();
  while (true) {
    const size_t comma = text.find(',');
    if (!ReadValue(text.substr(0, comma), values.emplace_back())) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

class Fields;
class FieldWriter;

// "outer-lr=0.7 outer-momentum=0.9 outer-nesterov": the rate says that there is one.
void AddTo(FieldWriter& line, const OuterStep& step);
std::optional<OuterStep> TakeOuter(Fields& fields);

// Reads a line field by field. The first failure sticks; later reads give defaults, Finish tells.
// The line must outlive it.
class Fields {
 public:
  explicit Fields(std::string_view line);

  // The next field, whatever it looks like. `what` names it in errors.
  template <class T>
  T Next(std::string_view what) {
    T value{};
    if (fields_.empty()) {
      Fail(fmt::format("{} is missing", what));
    } else {
      const std::string_view text = fields_.front();
      fields_.erase(fields_.begin());
      if (!ReadValue(text, value)) Fail(fmt::format("{} is not valid: {}", what, text));
    }
    return value;
  }

  // Sets `value` if the line has `key=`; says whether it had.
  template <class T>
  bool Take(std::string_view key, T& value) {
    const std::optional<std::string_view> text = Find(key);
    if (text && !ReadValue(*text, value)) Fail(fmt::format("{} is not valid: {}", key, *text));
    return text.has_value();
  }

  template <class T>
  T Require(std::string_view key) {
    T value{};
    if (!Take(key, value)) Fail(fmt::format("{} is missing", key));
    return value;
  }

  // Takes the bare word `word` if it is there.
  bool Flag(std::string_view word);

  void Fail(const std::string& message);

  // InvalidArgument with the first failure, or naming the first field that nobody took.
  Status Finish();

 private:
  std::optional<std::string_view> Find(std::string_view key);

  std::vector<std::string_view> fields_;
  Status status_;
};

// Builds a line; fields at their defaults are left out.
class FieldWriter {
 public:
  explicit FieldWriter(std::string start) : text_(std::move(start)) {}

  template <class T>
  FieldWriter& Add(std::string_view key, const T& value) {
    text_ += fmt::format(" {}={}", key, Text(value));
    return *this;
  }
  template <class T>
  FieldWriter& AddUnless(const T& value_left_out, std::string_view key, const T& value) {
    return value == value_left_out ? *this : Add(key, value);
  }
  FieldWriter& AddWord(std::string_view word) {
    text_ += fmt::format(" {}", word);
    return *this;
  }
  std::string Take() { return std::move(text_); }

 private:
  static std::string Text(Duration value) { return FormatSeconds(value); }
  template <class T>
  static std::string Text(const std::vector<T>& values) {
    return fmt::format("{}", fmt::join(values, ","));
  }
  template <class T>
  static std::string Text(const T& value) {
    if constexpr (HasWords<T>) {
      return std::string(ToString(value));
    } else {
      return fmt::format("{}", value);
    }
  }

  std::string text_;
};

}  // namespace paceline::sync
