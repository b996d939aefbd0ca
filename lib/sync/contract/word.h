// Defines Word, how an enum's value is written, and ToString and FromString for any enum that has
// words. An enum's header, which events may need, includes this; words.h has those of the events.
//
// Example:
//   inline constexpr Word<Scheme> kSchemeWords[] = {{Scheme::kBsp, "BSP"}};
//   constexpr Words<Scheme> WordsOf(Scheme) { return kSchemeWords; }
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace paceline::sync {

template <class E>
struct Word {
  E value;
  std::string_view text;
};

template <class E>
using Words = std::span<const Word<E>>;

// An enum with an overload of WordsOf in its own namespace.
template <class E>
concept HasWords = requires(E value) {
  WordsOf(value);
};

template <HasWords E>
constexpr std::string_view ToString(E value) {
  for (const Word<E>& word : WordsOf(value)) {
    if (word.value == value) return word.text;
  }
  return "unknown";
}

template <HasWords E>
constexpr std::optional<E> FromString(std::string_view text) {
  for (const Word<E>& word : WordsOf(E{})) {
    if (word.text == text) return word.value;
  }
  return std::nullopt;
}

}  // namespace paceline::sync
