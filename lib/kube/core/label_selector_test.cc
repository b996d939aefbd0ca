#include "lib/kube/core/label_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::kube {
namespace {

using testing::HasSubstr;

TEST(LabelSelector, SelectsWhatTheApiServerWould) {
  const StringMap labels = {{"app", "web"}, {"tier", "b"}, {"empty", ""}};
  const struct {
    const char* selector;
    bool matches;
  } cases[] = {
      {"", true},
      {"app=web", true},
      {"app==web", true},
      {"app = web , tier=b", true},
      {"app=db", false},
      {"app!=db", true},
      {"app!=web", false},
      {"other!=web", true},
      {"tier in (a,b)", true},
      {"tier in (a, c)", false},
      {"none in (a)", false},
      {"tier notin (a,c)", true},
      {"tier notin (b)", false},
      {"none notin (b)", true},
      {"app", true},
      {"none", false},
      {"!none", true},
      {"!app", false},
      {"empty=", true},
      {"app,!none,tier in (b)", true},
      {"example.com/name=x", false},
  };
  for (const auto& [text, matches] : cases) {
    const StatusOr<LabelSelector> selector = LabelSelector::Parse(text);
    ASSERT_TRUE(selector.ok()) << text << selector.status();
    EXPECT_EQ(selector->Matches(labels), matches) << text;
    EXPECT_EQ(LabelSelector::Parse(selector->ToString()).value(), *selector) << text;
  }
}

TEST(LabelSelector, SaysWhereATextIsWrong) {
  for (const char* bad : {"=a", "a in b", "a in (b", "a,", ",a", "a b", "!", "a>1", "a=(b)"}) {
    const StatusOr<LabelSelector> selector = LabelSelector::Parse(bad);
    EXPECT_EQ(selector.status().code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(Message(selector.status()), HasSubstr("position")) << bad;
  }
}

TEST(LabelSelector, ReadsTheFormOfSpecs) {
  const auto selector = LabelSelector::FromJson(Json::parse(R"({
    "matchLabels": {"app": "web"},
    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]},
                         {"key": "old", "operator": "DoesNotExist"}]})"));
  ASSERT_TRUE(selector.ok()) << selector.status();
  EXPECT_EQ(selector->ToString(), "app=web,tier in (a,b),!old");
  EXPECT_TRUE(LabelSelector::FromJson(Json::object()).value().IsEmpty());
}

TEST(LabelSelector, NamesTheFieldThatIsWrong) {
  const struct {
    const char* json;
    const char* told;
  } cases[] = {
      {R"({"matchLabels": 3})", "matchLabels: not an object"},
      {R"({"matchLabels": {"a": 1}})", "matchLabels.a: not a string"},
      {R"({"matchExpressions": [{"key": "a", "operator": "Is"}]})", "matchExpressions[0]"},
      {R"({"matchExpressions": [{"key": "a", "operator": "In"}]})", "values: missing"},
      {R"({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]})",
       "values: must be empty"},
  };
  for (const auto& [json, told] : cases) {
    EXPECT_THAT(Message(LabelSelector::FromJson(Json::parse(json)).status()), HasSubstr(told));
  }
}

TEST(LabelSelector, OfLabelsIsWrittenForTheApi) {
  EXPECT_EQ(LabelSelector::Of({{"b", "2"}, {"a", "1"}}).ToString(), "a=1,b=2");
}

}  // namespace
}  // namespace paceline::kube
