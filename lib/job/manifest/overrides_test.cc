#include "lib/job/manifest/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/yaml.h"

namespace paceline::job {
namespace {

using ::testing::HasSubstr;

TEST(ApplyOverride, SetsMakesAppendsAndTakesAway) {
  const struct {
    const char* before;
    const char* override;
    const char* after;
  } cases[] = {
      {"{a: 1}", "a=2", R"({"a":2})"},
      {"{a: 1}", "a=\"2\"", R"({"a":"2"})"},
      {"{a: 1}", "b.c.d=Cosine", R"({"a":1,"b":{"c":{"d":"Cosine"}}})"},
      {"{a: {b: 1}}", "a={maxEpochs: 2}", R"({"a":{"maxEpochs":2}})"},
      {"{a: [1, 2]}", "a[1]=5", R"({"a":[1,5]})"},
      {"{a: [1, 2]}", "a[2]=5", R"({"a":[1,2,5]})"},
      {"{}", "a[0].b=true", R"({"a":[{"b":true}]})"},
      {"{a: 1}", "a=null", R"({"a":null})"},
      {"{}", "m[\"x.y/z\"]=v", R"({"m":{"x.y/z":"v"}})"},
      {"{a: x}", "a=b=c", R"({"a":"b=c"})"},
  };
  for (const auto& c : cases) {
    Node root = ParseYaml(c.before).root;
    const Status status = ApplyOverride(root, c.override);
    EXPECT_TRUE(status.ok()) << c.override << ": " << status;
    EXPECT_EQ(ToJson(root).dump(), c.after) << c.override;
  }
}

TEST(ApplyOverride, GivesValuesNoLineOfAManifest) {
  Node root = ParseYaml("a: 1\nb: 2").root;
  ASSERT_TRUE(ApplyOverride(root, "b={c: [1, {d: 2}]}").ok());
  EXPECT_EQ(LineOf(root, "b.c"), 0);
  EXPECT_EQ(LineOf(root, "b.c[1].d"), 0);
  EXPECT_EQ(root.Find("b")->line, 0);
}

TEST(ApplyOverride, RefusesClearlyAndChangesNothing) {
  const struct {
    const char* override;
    const char* message;
  } cases[] = {
      {"a", "must be PATH=VALUE"},
      {"=3", "must be PATH=VALUE"},
      {"a..b=3", "path must look like"},
      {"a[x]=3", "path must look like"},
      {"a=", "has no value"},
      {"a=[1", "not valid YAML"},
      {"a.b=3", "what holds b is not an object but 1"},
      {"l.b=3", "what holds b is not an object but a list"},
      {"a[0]=3", "what holds [0] is not a list but 1"},
      {"l[5]=3", "index 5 is beyond the list's end, which is 2"},
      {"new.l[1]=3", "index 1 is beyond the list's end, which is 0"},
  };
  const Node before = ParseYaml("{a: 1, l: [1, 2]}").root;
  for (const auto& c : cases) {
    Node root = before;
    const Status status = ApplyOverride(root, c.override);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.override;
    EXPECT_THAT(Message(status), HasSubstr(c.message)) << c.override;
    EXPECT_TRUE(root == before) << c.override;
  }
}

}  // namespace
}  // namespace paceline::job
