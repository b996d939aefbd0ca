#include "lib/kube/core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::kube {
namespace {

using testing::HasSubstr;

TEST(Json, BadTextGivesThePosition) {
  for (const char* bad : {"{\"a\":", "{\"a\" 1}", "nul", "{} x"}) {
    for (const auto& parsed : {ParseJson(bad), ParseJsonWithoutManagedFields(bad)}) {
      EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument) << bad;
      EXPECT_THAT(Message(parsed.status()), HasSubstr("column")) << bad;
    }
  }
  EXPECT_EQ(Message(ParseJson("").status()), "JSON is empty");
}

TEST(Json, ManagedFieldsAreLeftOutWhereObjectsHaveThem) {
  const auto same = [](const char* text, const char* wanted) {
    EXPECT_EQ(ParseJsonWithoutManagedFields(text).value(), Json::parse(wanted)) << text;
  };
  same(
      R"({"metadata":{"managedFields":[{"f":{"a":[1,{}]}}],"name":"x"},"spec":{"a":[1,2,{"b":null}]}})",
      R"({"metadata":{"name":"x"},"spec":{"a":[1,2,{"b":null}]}})");
  same(R"({"type":"ADDED","object":{"metadata":{"name":"x","managedFields":[]}}})",
       R"({"type":"ADDED","object":{"metadata":{"name":"x"}}})");
  same(
      R"({"items":[{"metadata":{"managedFields":null}},{"metadata":{"managedFields":[1],"uid":"u"}}]})",
      R"({"items":[{"metadata":{}},{"metadata":{"uid":"u"}}]})");
}

TEST(Json, ManagedFieldsElsewhereAreSomebodysOwn) {
  for (const char* text :
       {R"({"managedFields":[1]})", R"({"spec":{"metadata":{"managedFields":[1]}}})",
        R"({"spec":{"template":{"metadata":{"managedFields":[1]}}}})", R"([1,"a",-2,1.5,true])",
        R"("text")"}) {
    EXPECT_EQ(ParseJsonWithoutManagedFields(text).value(), Json::parse(text)) << text;
  }
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
