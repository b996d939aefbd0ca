#include "lib/base/printable.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(Printable, LeavesTextOfAllLanguagesAsItIs) {
  for (const std::string text :
       {"", "loss 0.3\n\tat step 7", "Straße, 学習, обучение, שלום, 🚀", "a\\b", "e\u0301"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(Printable, WritesOutWhatATerminalWouldObey) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\x1b[2J\x1b]0;title\a", "\\x1b[2J\\x1b]0;title\\x07"},
      {"10 %\r20 %", "10 %\\x0d20 %"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\x7f\b", "\\x7f\\x08"},
      {"\u009b31m", "\\u009b31m"},  // The escape of eight bits.
      {"safe\u202egnp.exe", "safe\\u202egnp.exe"},
      {"\ufeffa\u2028b\u2066c", "\\ufeffa\\u2028b\\u2066c"},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(Printable(text), wanted);
}

TEST(Printable, WritesOutBytesThatAreNoText) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"Stra\xdf"
       "e",
       "Stra\\xdfe"},
      {"\xff\xfe", "\\xff\\xfe"},
      {"\xe5\xad", "\\xe5\\xad"},                    // Cut off.
      {"\xc0\xaf", "\\xc0\\xaf"},                    // A slash in a longer form.
      {"\xed\xb3\x9f", "\\xed\\xb3\\x9f"},           // A lone surrogate.
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // Beyond Unicode.
      {"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},
      {"\x9b"
       "31m",
       "\\x9b31m"},
      {"\xe2\x82"
       "a",
       "\\xe2\\x82"
       "a"},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(Printable(text), wanted);
}

TEST(Printable, OfAllTextsOfThreeBytesNoneKeepsAControlCharacterOrGrowsTwice) {
  std::string text(3, 0);
  for (int i = 0; i < 1 << 24; i += 97) {  // Every byte in every place.
    text[0] = static_cast<char>(i >> 16), text[1] = static_cast<char>(i >> 8),
    text[2] = static_cast<char>(i);
    const std::string printable = Printable(text);
    for (const char c : printable) {
      ASSERT_FALSE(static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') << i;
      ASSERT_NE(c, '\x7f') << i;
    }
    ASSERT_EQ(Printable(printable), printable) << i;
  }
}

}  // namespace
}  // namespace paceline
