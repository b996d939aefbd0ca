// Gives every enum of the manifest its words: one table serves decoding, encoding, hints and docs.
//
// Each enum E counts from 0 without gaps and has, in its namespace,
//   constexpr std::span<const std::string_view> Words(E);   // the word of each value, in order
//
// Example:
//   ToWord(Scheme::kSsp)              // "SSP"
//   FromWord<Scheme>("SSP")           // Scheme::kSsp
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace paceline::job {

template <class E>
constexpr std::string_view ToWord(E value) {
  return Words(value)[static_cast<size_t>(value)];
}

template <class E>
constexpr std::optional<E> FromWord(std::string_view word) {
  const std::span<const std::string_view> words = Words(E{});
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace paceline::job

// After `enum class Name`, gives it its words in the order of its values.
#define PACELINE_WORDS(Name, ...)                                     \
  inline constexpr std::string_view k##Name##Words[] = {__VA_ARGS__}; \
  constexpr std::span<const std::string_view> Words(Name) { return k##Name##Words; }
