#include "simulator/scenario/fields.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/job/manifest/known_names.h"

namespace paceline::simulator {

using job::Node;

Fields::Fields(const Node& node, std::string path, std::vector<job::FieldError>& errors)
    : node_(node), path_(std::move(path)), errors_(errors) {
  if (node.kind != Node::Kind::kMap)
    errors_.push_back({path_, "must be an object: got " + Describe(node), node.line});
}

std::string Fields::PathOf(std::string_view name) const {
  if (name.empty()) return path_;
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void Fields::Fail(std::string_view name, std::string message) {
  const Node* const node = name.empty() ? &node_ : node_.Find(name);
  errors_.push_back({PathOf(name), std::move(message), node == nullptr ? node_.line : node->line});
}

const Node* Fields::Take(std::string_view name) {
  known_.push_back(name);
  const Node* const found = node_.Find(name);
  return found == nullptr || found->kind == Node::Kind::kNull ? nullptr : found;
}

void Fields::Require(std::string_view name) {
  const Node* const found = node_.Find(name);
  if (node_.kind == Node::Kind::kMap && (found == nullptr || found->kind == Node::Kind::kNull))
    Fail(name, "is required");
}

bool Fields::TakeNumber(std::string_view name, double& value, bool is_whole, const Bounds& bounds) {
  const Node* const found = Take(name);
  if (found == nullptr) return false;
  const bool is_integer = found->kind == Node::Kind::kInteger;
  const double number = is_integer ? static_cast<double>(found->integer) : found->number;
  const bool is_number = is_integer || (found->kind == Node::Kind::kFloat && std::isfinite(number));
  if (!is_number || (is_whole && std::trunc(number) != number)) {
    Fail(name,
         fmt::format("must be a {}number: got {}", is_whole ? "whole " : "", Describe(*found)));
    return false;
  }
  const auto fail = [&](std::string_view words, double bound) {
    Fail(name, fmt::format("must be {} {}: got {}", words, bound, Describe(*found)));
    return false;
  };
  if (bounds.min && number < *bounds.min) return fail("at least", *bounds.min);
  if (bounds.above && number <= *bounds.above) return fail("above", *bounds.above);
  if (bounds.max && number > *bounds.max) return fail("at most", *bounds.max);
  if (bounds.below && number >= *bounds.below) return fail("below", *bounds.below);
  value = number;
  return true;
}

void Fields::Take(std::string_view name, double& value, const Bounds& bounds) {
  TakeNumber(name, value, false, bounds);
}
void Fields::Take(std::string_view name, uint32_t& value, const Bounds& bounds) {
  double number = 0;
  if (TakeNumber(name, number, true, bounds)) value = static_cast<uint32_t>(number);
}
void Fields::Take(std::string_view name, uint64_t& value, const Bounds& bounds) {
  double number = 0;
  if (TakeNumber(name, number, true, bounds)) value = static_cast<uint64_t>(number);
}

void Fields::Take(std::string_view name, std::string& value) {
  const Node* const found = Take(name);
  if (found == nullptr) return;
  if (found->kind != Node::Kind::kString) {
    Fail(name, "must be a string: got " + Describe(*found));
    return;
  }
  value = found->text;
}

void Fields::Take(std::string_view name, bool& value) {
  const Node* const found = Take(name);
  if (found == nullptr) return;
  if (found->kind != Node::Kind::kBool) {
    Fail(name, "must be true or false: got " + Describe(*found));
    return;
  }
  value = found->boolean;
}

void Fields::Take(std::string_view name, std::span<const std::string_view> words, size_t& place) {
  std::string word;
  Take(name, word);
  if (word.empty()) return;
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) {
    place = static_cast<size_t>(found - words.begin());
    return;
  }
  const std::string_view near = job::NearestName(word, words);
  Fail(name, fmt::format("must be one of {}: got \"{}\"{}", fmt::join(words, ", "), word,
                         near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

void Fields::Done() {
  for (const Node::Member& member : node_.members) {
    if (std::ranges::find(known_, member.key) != known_.end()) continue;
    const std::string_view near = job::NearestName(member.key, known_);
    errors_.push_back({PathOf(member.key),
                       near.empty()
                           ? fmt::format("is unknown: want one of {}", fmt::join(known_, ", "))
                           : fmt::format("is unknown: did you mean {}?", near),
                       member.line});
  }
}

}  // namespace paceline::simulator
