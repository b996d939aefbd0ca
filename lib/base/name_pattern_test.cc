#include "lib/base/name_pattern.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(NamePatternTest, KnowsAnyCharactersAndOne) {
  const struct {
    const char* pattern;
    const char* name;
    bool want;
  } cases[] = {
      {"conv1.weight", "conv1.weight", true},
      {"conv1.weight", "conv1.weights", false},
      {"conv1.weight", "conv1.weigh", false},
      {"*.bias", "conv1.bias", true},
      {"*.bias", "bias", false},
      {"*.bias", "conv1.bias.more", false},
      {"*norm*", "layers.3.norm2.weight", true},
      {"*norm*", "norm", true},
      {"*norm*", "nor.m", false},
      {"conv?.*", "conv1.weight", true},
      {"conv?.*", "conv.weight", false},
      {"conv?.*", "conv12.weight", false},
      {"*", "anything", true},
      {"*", "", true},
      {"**", "", true},
      {"", "", true},
      {"", "a", false},
      {"a*b*c", "a.b.b.c", true},
      {"a*b*c", "a.b.b", false},
      {"*ab", "aab", true},
      {"?", "", false},
  };
  for (const auto& test : cases)
    EXPECT_EQ(FitsPattern(test.pattern, test.name), test.want) << test.pattern << " " << test.name;
}

// Many stars make no pattern slow: it would not come to its end otherwise.
TEST(NamePatternTest, TakesAHostilePatternInItsStride) {
  std::string pattern, name(200, 'a');
  for (int i = 0; i < 100; ++i) pattern += "a*";
  EXPECT_FALSE(FitsPattern(pattern + "b", name));
}

}  // namespace
}  // namespace paceline
