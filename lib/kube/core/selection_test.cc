#include "lib/kube/core/selection.h"

#include <gtest/gtest.h>

namespace paceline::kube {
namespace {

Json Kept(const char* text, const Selection& selection) {
  Json value = Json::parse(text);
  Keep(value, selection);
  return value;
}

TEST(Selection, SelectsWhatIsNamedWithAllBelow) {
  EXPECT_EQ(Kept(R"({"a":{"b":1,"c":[2]},"d":{"e":{"f":3},"g":4},"h":5})", {"/a", "/d/e"}),
            Json::parse(R"({"a":{"b":1,"c":[2]},"d":{"e":{"f":3}}})"));
}

TEST(Selection, GoesIntoEachElementOfAnArray) {
  EXPECT_EQ(Kept(R"({"a":[{"b":1,"c":2},{"c":3},4,[{"b":5,"c":6}]]})", {"/a/b"}),
            Json::parse(R"({"a":[{"b":1},{},4,[{"b":5}]]})"));
}

TEST(Selection, OfTwoPointersTheShorterCounts) {
  const Json wanted = Json::parse(R"({"a":{"b":1,"c":2}})");
  EXPECT_EQ(Kept(R"({"a":{"b":1,"c":2},"d":3})", {"/a", "/a/b"}), wanted);
  EXPECT_EQ(Kept(R"({"a":{"b":1,"c":2},"d":3})", {"/a/b", "/a"}), wanted);
}

TEST(Selection, IsEverythingUnlessToldOtherwise) {
  const Json whole = Json::parse(R"({"a":{"b":1}})");
  EXPECT_EQ(Kept(R"({"a":{"b":1}})", {}), whole);
  EXPECT_EQ(Kept(R"({"a":{"b":1}})", {"/a/b", ""}), whole);
  EXPECT_TRUE(Selection().IsEverything());
}

TEST(Selection, NamesMayHoldSlashes) {
  EXPECT_EQ(Kept(R"({"a/b":1,"a~b":2,"a":3})", {"/a~1b", "/a~0b"}),
            Json::parse(R"({"a/b":1,"a~b":2})"));
}

TEST(Selection, LeavesWhatIsNoObjectAlone) {
  for (const char* text : {"3", "null", R"("a")", "[1,2]"})
    EXPECT_EQ(Kept(text, {"/a"}), Json::parse(text)) << text;
}

}  // namespace
}  // namespace paceline::kube
