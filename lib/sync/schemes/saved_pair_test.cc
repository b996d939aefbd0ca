#include "lib/sync/schemes/saved_pair.h"

#include <gtest/gtest.h>

namespace paceline::sync {
namespace {

TEST(SavedPair, ComesApartAsItWasPutTogether) {
  for (const auto& [first, second] : {std::pair<std::string, std::string>{"a 1\nb", "c\n"},
                                      {"", "5 0"},
                                      {"12 3\n", ""},
                                      {"", ""}}) {
    const auto pair = SplitSaved(JoinSaved(first, second));
    ASSERT_TRUE(pair.ok()) << pair.status();
    EXPECT_EQ(pair->first, first);
    EXPECT_EQ(pair->second, second);
  }
}

TEST(SavedPair, IsEmptyIfNothingWasLearnt) { EXPECT_EQ(JoinSaved("", ""), ""); }

TEST(SavedPair, RefusesWhatIsNoPair) {
  for (const char* const text : {"5", "x y\n", "1 1\na", "1 1\nabc", "1 1",
                                 "99999999999999999999 1\na", "18446744073709551615 1\nab"}) {
    EXPECT_EQ(SplitSaved(text).status().code(), StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace paceline::sync
