#include "ps-server/coordinator/state_field.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"

namespace paceline::ps {
namespace {

constexpr size_t kShownMax = 80;

std::string Shown(const nlohmann::json& value) {
  const std::string text = JsonText(value);
  return text.size() <= kShownMax ? text : text.substr(0, kShownMax - 3) + "...";
}

}  // namespace

void StateField::Refuse(const std::string& what) const {
  throw WrongField(
      fmt::format("{} must be {}: got {}", path_.empty() ? "it" : path_, what, Shown(*value_)));
}

StateField StateField::At(const std::string& key) const {
  if (!value_->is_object()) Refuse("an object");
  const auto found = value_->find(key);
  std::string path = path_.empty() ? key : path_ + "." + key;
  if (found == value_->end()) throw WrongField(path + " is missing");
  return {*found, std::move(path)};
}

std::optional<StateField> StateField::Find(const std::string& key) const {
  if (!value_->is_object()) Refuse("an object");
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return At(key);
}

std::vector<StateField> StateField::Items() const {
  if (!value_->is_array()) Refuse("a list");
  std::vector<StateField> items;
  for (size_t i = 0; i < value_->size(); ++i)
    items.emplace_back((*value_)[i], fmt::format("{}[{}]", path_, i));
  return items;
}

std::vector<std::pair<std::string, StateField>> StateField::Members() const {
  if (!value_->is_object()) Refuse("an object");
  std::vector<std::pair<std::string, StateField>> members;
  for (const auto& [key, value] : value_->items())
    members.emplace_back(key, StateField(value, path_ + "." + key));
  return members;
}

std::pair<uint64_t, uint64_t> StateField::Pair() const {
  const std::vector<StateField> both = Items();
  if (both.size() != 2) Refuse("a list of two numbers");
  return {both[0].Whole(), both[1].Whole()};
}

uint64_t StateField::Whole(uint64_t most, uint64_t least) const {
  if (!value_->is_number_unsigned()) Refuse("a whole number");
  const auto number = value_->get<uint64_t>();
  if (number > most) Refuse(fmt::format("at most {}", most));
  if (number < least) Refuse(fmt::format("at least {}", least));
  return number;
}

uint32_t StateField::Count() const {
  return static_cast<uint32_t>(Whole(std::numeric_limits<uint32_t>::max()));
}

double StateField::Number() const {
  if (!value_->is_number()) Refuse("a number");
  const auto number = value_->get<double>();
  if (!std::isfinite(number)) Refuse("a finite number");
  return number;
}

double StateField::NumberOrNone() const {
  if (value_->is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value_->is_number()) Refuse("a number or null");
  return value_->get<double>();
}

bool StateField::Truth() const {
  if (!value_->is_boolean()) Refuse("true or false");
  return value_->get<bool>();
}

std::string StateField::Text() const {
  if (!value_->is_string()) Refuse("a text");
  return value_->get<std::string>();
}

bool StateField::IsSecond(std::string_view first, std::string_view second) const {
  const bool is_second = *value_ == second;
  if (!is_second && *value_ != first) Refuse(fmt::format("one of {}, {}", first, second));
  return is_second;
}

}  // namespace paceline::ps
