#include "lib/kube/core/parse.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::kube {
namespace {

using testing::HasSubstr;

void ExpectParsed(const std::string& text, const Selection& selection, const std::string& wanted) {
  const StatusOr<Json> parsed = ParseMessage(text, selection);
  ASSERT_TRUE(parsed.ok()) << parsed.status() << " of " << text;
  EXPECT_EQ(*parsed, Json::parse(wanted)) << text;
}

TEST(ParseMessage, BadTextGivesThePosition) {
  for (const char* bad : {"{\"a\":", "{\"a\" 1}", "nul", "{} x", "{\"a\":\"\xff\"}"}) {
    const StatusOr<Json> parsed = ParseMessage(bad);
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(Message(parsed.status()), HasSubstr("column")) << bad;
  }
  EXPECT_EQ(Message(ParseMessage("").status()), "JSON is empty");
}

TEST(ParseMessage, ManagedFieldsAreLeftOutWhereObjectsHaveThem) {
  ExpectParsed(
      R"({"metadata":{"managedFields":[{"f":{"a":[1,{}]}}],"name":"x"},"spec":{"a":[1,2,{"b":null}]}})",
      {}, R"({"metadata":{"name":"x"},"spec":{"a":[1,2,{"b":null}]}})");
  ExpectParsed(R"({"type":"ADDED","object":{"metadata":{"name":"x","managedFields":[]}}})", {},
               R"({"type":"ADDED","object":{"metadata":{"name":"x"}}})");
  ExpectParsed(
      R"({"items":[{"metadata":{"managedFields":null}},{"metadata":{"managedFields":[1],"uid":"u"}}]})",
      {}, R"({"items":[{"metadata":{}},{"metadata":{"uid":"u"}}]})");
}

TEST(ParseMessage, ManagedFieldsElsewhereAreSomebodysOwn) {
  for (const char* text :
       {R"({"managedFields":[1]})", R"({"spec":{"metadata":{"managedFields":[1]}}})",
        R"({"spec":{"template":{"metadata":{"managedFields":[1]}}}})", R"([1,"a",-2,1.5,true])",
        R"("text")", R"({"kind":"A","object":{"metadata":{"managedFields":[1]}}})"}) {
    ExpectParsed(text, {}, text);
  }
}

TEST(ParseMessage, SelectsOfTheObjectNotOfItsEnvelope) {
  const Selection selection({"/metadata/name", "/status/list/a"});
  const std::string object =
      R"({"kind":"Pod","metadata":{"name":"x","uid":"u"},"spec":{},"status":{"list":[{"a":1,"b":2}]}})";
  const std::string selected = R"({"metadata":{"name":"x"},"status":{"list":[{"a":1}]}})";
  ExpectParsed(object, selection, selected);
  ExpectParsed(R"({"type":"MODIFIED","object":)" + object + "}", selection,
               R"({"type":"MODIFIED","object":)" + selected + "}");
  ExpectParsed(
      R"({"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[)" + object + "]}",
      selection,
      R"({"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[)" + selected + "]}");
}

TEST(ParseMessage, ValuesAreThoseOfTheOtherParser) {
  const std::string text =
      R"({"a":[0,-1,9223372036854775807,18446744073709551615,-9223372036854775808,1e3,-0.5,true,false,null],)"
      R"("b":"\u00e4\n\"\\ \ud83d\ude00","":{"c":{}},"d":[[],{}]})";
  const Json parsed = ParseMessage(text).value();
  const Json wanted = Json::parse(text);
  EXPECT_EQ(parsed, wanted);
  EXPECT_EQ(WriteJson(parsed), WriteJson(wanted));
  for (size_t i = 0; i < wanted["a"].size(); ++i)
    EXPECT_EQ(parsed["a"][i].type(), wanted["a"][i].type()) << i;
}

// One stranger's object must not take the stack, nor the others of its list, from everybody.
TEST(ParseMessage, WhatIsTooDeepIsLeftOut) {
  const size_t depth = 100'000;
  const std::string deep = std::string(depth, '[') + std::string(depth, ']');
  const StatusOr<Json> parsed =
      ParseMessage(R"({"kind":"AList","items":[{"a":)" + deep + R"(,"b":1},{"b":2}]})");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Json copied = *parsed;
  EXPECT_LT(WriteJson(copied).size(), 3000u);
  EXPECT_EQ(copied["items"][0]["b"], 1);
  EXPECT_EQ(copied["items"][1], Json::parse(R"({"b":2})"));
  EXPECT_EQ(WriteJson(copied["items"][0]["a"]).substr(0, 500), std::string(500, '['));
}

// Legal, and beyond the fast parser: read as the slow one reads it, with the same selection.
TEST(ParseMessage, WhatIsLegalIsRead) {
  const std::string bent = R"(["\u0000",123456789012345678901234567890])";
  for (const std::string& odd : {std::string("123456789012345678901234567890"), bent}) {
    const std::string object =
        R"({"metadata":{"name":"x","managedFields":[]},"a":)" + odd + R"(,"b":1})";
    const std::string selected = R"({"metadata":{"name":"x"},"a":)" + odd + "}";
    ExpectParsed(object, {"/metadata", "/a"}, selected);
    ExpectParsed(R"({"type":"ADDED","object":)" + object + "}", {"/metadata", "/a"},
                 R"({"type":"ADDED","object":)" + selected + "}");
    ExpectParsed(R"({"kind":"AList","items":[)" + object + ",3]}", {"/metadata", "/a"},
                 R"({"kind":"AList","items":[)" + selected + ",3]}");
  }
}

TEST(MessageParser, ReadsOneAfterTheOther) {
  MessageParser parser;
  const std::string large = "[\"" + std::string(1 << 20, 'x') + "\"]";
  EXPECT_EQ(parser.Parse(R"({"a":1})").value(), Json::parse(R"({"a":1})"));
  EXPECT_EQ(parser.Parse(large).value(), Json::parse(large));
  EXPECT_FALSE(parser.Parse("{").ok());
  EXPECT_EQ(parser.Parse(R"({"a":1,"b":2})", {"/b"}).value(), Json::parse(R"({"b":2})"));
}

TEST(ParseMessage, LongTextsAreReadLikeShortOnes) {
  std::string text = "[0";
  for (int i = 1; i < 50000; ++i) text += "," + std::to_string(i);
  const Json parsed = ParseMessage(text + "]").value();
  ASSERT_EQ(parsed.size(), 50000u);
  EXPECT_EQ(parsed.back(), 49999);
}

}  // namespace
}  // namespace paceline::kube
