// Defines StateField: a value of a checkpoint's state, judged as it is read.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace paceline::ps {

// Its words name the field, the value and what would be right: "damping.rollBacks must be a whole
// number: got -1".
class WrongField : public std::exception {
 public:
  explicit WrongField(std::string words) : words_(std::move(words)) {}
  const char* what() const noexcept override { return words_.c_str(); }

 private:
  std::string words_;
};

// A view of the object that it is from, which outlives it. What is not as it is asked for throws
// WrongField.
class StateField {
 public:
  // `path`: where it stands, "" for the whole.
  StateField(const nlohmann::json& value, std::string path)
      : value_(&value), path_(std::move(path)) {}

  StateField At(const std::string& key) const;                   // It is required.
  std::optional<StateField> Find(const std::string& key) const;  // Nothing if absent or null.
  std::vector<StateField> Items() const;                         // Of a list.
  std::vector<std::pair<std::string, StateField>> Members() const;
  std::pair<uint64_t, uint64_t> Pair() const;  // A list of two whole numbers.

  uint64_t Whole(uint64_t most = std::numeric_limits<uint64_t>::max(), uint64_t least = 0) const;
  uint32_t Count() const;  // One of 32 bits.
  double Number() const;
  double NumberOrNone() const;  // Not a number for null, which JSON has in its place.
  bool Truth() const;
  std::string Text() const;
  // One of two words: whether it is the second.
  bool IsSecond(std::string_view first, std::string_view second) const;

  // "`path` must be `what`: got `value`".
  [[noreturn]] void Refuse(const std::string& what) const;

 private:
  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace paceline::ps
