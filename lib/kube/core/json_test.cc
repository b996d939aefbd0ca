#include "lib/kube/core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::kube {
namespace {

using testing::HasSubstr;

TEST(Json, BadTextGivesThePosition) {
  for (const char* bad : {"{\"a\":", "{\"a\" 1}", "nul", "{} x"}) {
    const StatusOr<Json> parsed = ParseJson(bad);
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(Message(parsed.status()), HasSubstr("column")) << bad;
  }
  EXPECT_EQ(Message(ParseJson("").status()), "JSON is empty");
}

TEST(Json, PointersFindWhatIsThere) {
  const Json pod = Json::parse(
      R"({"status":{"phase":"Running","n":3,"up":true,"list":[{"a":"b"}]},"x":{"a/b~c":"d"}})");
  EXPECT_EQ(StringAt(pod, "/status/phase"), "Running");
  EXPECT_EQ(StringAt(pod, "/status/list/0/a"), "b");
  EXPECT_EQ(StringAt(pod, "/x/a~1b~0c"), "d");
  EXPECT_EQ(IntegerAt(pod, "/status/n"), 3);
  EXPECT_TRUE(IsTrueAt(pod, "/status/up"));
  EXPECT_EQ(Find(pod, ""), &pod);
}

TEST(Json, PointersToWhatIsAbsentOrOfAnotherTypeAreEmpty) {
  const Json pod = Json::parse(R"({"status":{"phase":1,"list":[1]}})");
  for (const char* pointer : {"/status/phase", "/status/none", "/none/none", "/status/phase/deeper",
                              "/status/list/1", "/status/list/-", "/status/list/99999999999"}) {
    EXPECT_EQ(StringAt(pod, pointer), "") << pointer;
    EXPECT_FALSE(IsTrueAt(pod, pointer)) << pointer;
  }
  EXPECT_EQ(IntegerAt(pod, "/status"), 0);
  EXPECT_EQ(Find(Json(), "/a"), nullptr);
}

TEST(Json, TextThatIsNotUtf8IsWrittenAllTheSame) {
  EXPECT_EQ(WriteJson(Json(std::string("a\xff"))), "\"a\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace paceline::kube
