#include "lib/job/manifest/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/rfc3339.h"
#include "lib/job/manifest/values/scalar.h"

namespace paceline::job {
namespace {

using ::testing::HasSubstr;

TEST(ResolveScalar, TypesPlainWordsAsKubectlDoes) {
  const struct {
    const char* text;
    Node want;
  } cases[] = {
      {"", Node()},
      {"~", Node()},
      {"Null", Node()},
      {"nULL", Node::String("nULL")},
      {"true", Node::Bool(true)},
      {"Yes", Node::Bool(true)},
      {"on", Node::Bool(true)},
      {"OFF", Node::Bool(false)},
      {"n", Node::Bool(false)},
      {"oN", Node::String("oN")},
      {"0", Node::Integer(0)},
      {"-12", Node::Integer(-12)},
      {"+7", Node::Integer(7)},
      {"1_000", Node::Integer(1000)},
      {"0x1F", Node::Integer(31)},
      {"0o17", Node::Integer(15)},
      {"017", Node::Integer(15)},
      {"0b11", Node::Integer(3)},
      {"9223372036854775807", Node::Integer(INT64_MAX)},
      {"9223372036854775808", Node::Float(9223372036854775808.0)},
      {"1.5", Node::Float(1.5)},
      {".5", Node::Float(0.5)},
      {"+.5", Node::Float(0.5)},
      {"5.", Node::Float(5)},
      {"1e3", Node::Float(1000)},
      {"-1E-2", Node::Float(-0.01)},
      {"089", Node::Float(89)},
      {"1.2.3", Node::String("1.2.3")},
      {"1e", Node::String("1e")},
      {"--1", Node::String("--1")},
      {"1s", Node::String("1s")},
      {"digits", Node::String("digits")},
  };
  for (const auto& c : cases)
    EXPECT_TRUE(ResolveScalar(c.text) == c.want)
        << c.text << " -> " << Describe(ResolveScalar(c.text));
}

TEST(ParseYaml, QuotedNumbersAreStrings) {
  const Parsed parsed = ParseYaml("a: \"3\"\nb: 'true'\nc: 3\n");
  ASSERT_TRUE(parsed.errors.empty());
  EXPECT_EQ(parsed.root.Find("a")->kind, Node::Kind::kString);
  EXPECT_EQ(parsed.root.Find("b")->kind, Node::Kind::kString);
  EXPECT_EQ(parsed.root.Find("c")->kind, Node::Kind::kInteger);
  EXPECT_EQ(LineOf(parsed.root, "c"), 3);
}

TEST(ParseYaml, ReadsJson) {
  const Parsed parsed = ParseYaml("{\"a\": [1, {\"b\": null}], \"c\": \"x\\ny\"}");
  ASSERT_TRUE(parsed.errors.empty());
  EXPECT_EQ(parsed.root.Find("a")->elements.size(), 2u);
  EXPECT_EQ(parsed.root.Find("c")->text, "x\ny");
}

TEST(ParseYaml, FollowsAliases) {
  const Parsed parsed = ParseYaml("a: &x {n: 1}\nb: *x\n");
  ASSERT_TRUE(parsed.errors.empty());
  EXPECT_TRUE(*parsed.root.Find("a") == *parsed.root.Find("b"));
}

TEST(ParseYaml, RefusesAnExplosionOfAliases) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    text += fmt::format("a{0}: &a{0} [", i);
    for (int j = 0; j < 10; ++j) text += fmt::format("*a{}, ", i - 1);
    text += "]\n";
  }
  const Parsed parsed = ParseYaml(text);
  ASSERT_EQ(parsed.errors.size(), 1u);
  EXPECT_THAT(parsed.errors[0].message, HasSubstr("more than 100000 values"));
}

TEST(ParseYaml, RefusesDuplicateKeysWithPathAndBothLines) {
  const Parsed parsed = ParseYaml("a:\n  b: 1\n  c: 2\n  b: 3\n");
  ASSERT_EQ(parsed.errors.size(), 1u);
  EXPECT_EQ(parsed.errors[0], (FieldError{"a.b", "comes twice in one object, first on line 2", 4}));
}

TEST(ParseYaml, RefusesWhatIsNotOneDocument) {
  EXPECT_EQ(ParseYaml("").errors.size(), 1u);
  EXPECT_EQ(ParseYaml("a: 1\n---\nb: 2\n").errors.size(), 1u);
  EXPECT_TRUE(ParseYaml("---\na: 1\n...\n").errors.empty());
  EXPECT_THAT(ParseYaml("a: [1\nb: 2\n").errors[0].message, HasSubstr("not valid YAML"));
  EXPECT_THAT(ParseYaml(std::string_view("a\0b", 3)).errors[0].message, HasSubstr("zero byte"));
  EXPECT_THAT(ParseYaml("? [a]\n: 1\n").errors[0].message, HasSubstr("key"));
}

TEST(SplitPath, ReadsKeysIndicesAndQuotedKeys) {
  EXPECT_EQ(SplitPath("a.b").size(), 2u);
  const std::vector<PathStep> steps = SplitPath("a[3][\"x.y/z\"].b");
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[1].index, 3);
  EXPECT_EQ(steps[2].key, "x.y/z");
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "[0]", "a[", "a[]", "a[x]", "a[1", "a[-1]",
                          "a[0]b", "a[\"x]"}) {
    EXPECT_TRUE(SplitPath(bad).empty()) << bad;
  }
}

TEST(Rfc3339, RoundTripsAndRefuses) {
  for (const char* text :
       {"1970-01-01T00:00:00Z", "2026-01-31T09:30:59Z", "2024-02-29T23:59:59.000000001Z"}) {
    const auto time = ParseTime(text);
    ASSERT_TRUE(time.has_value()) << text;
    EXPECT_EQ(FormatTime(*time), text);
  }
  EXPECT_EQ(ParseTime("2026-01-31T09:30:00+02:00"), ParseTime("2026-01-31T07:30:00Z"));
  EXPECT_EQ(ParseTime("2026-01-31T09:30:00.5z"), ParseTime("2026-01-31T09:30:00.500Z"));
  for (const char* bad :
       {"", "2026-01-31", "2026-02-30T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T09:30:00",
        "2026-01-31T09:30:00Zx", "2026M01-31T09:30:00Z", "2026-01-31T09:30:00.Z"}) {
    EXPECT_FALSE(ParseTime(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace paceline::job
