#include "lib/base/printable.h"

#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace paceline {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: the text does not begin with one.
};

// RFC 3629 forbids longer forms, surrogates, and what is beyond U+10FFFF.
Character First(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  uint32_t code = lead & (0x7F >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, bytes};
}

bool IsControl(uint32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0);
}

// Marks of direction, separators of lines and paragraphs, the mark of byte order.
bool HidesOthers(uint32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    const Character first = First(text);
    if (first.bytes == 0 || (first.bytes == 1 && IsControl(first.code))) {
      printable += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    if (IsControl(first.code) || HidesOthers(first.code)) {
      printable += fmt::format("\\u{:04x}", first.code);
    } else {
      printable += text.substr(0, first.bytes);
    }
    text.remove_prefix(first.bytes);
  }
  return printable;
}

}  // namespace paceline
