// Manifests that somebody wrote to keep their reader busy, and the limits that stop them.
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/base/limits.h"
#include "lib/job/checks/change.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/load.h"
#include "lib/job/manifest/overrides.h"
#include "lib/job/manifest/yaml.h"

namespace paceline::job {
namespace {

using ::testing::HasSubstr;

// What the thread itself computed: a busy machine does not count.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Far more than any manifest takes, and less than one that is read in square time.
constexpr double kPatienceSeconds = 3;

std::string Repeat(std::string_view part, size_t count) {
  std::string text;
  text.reserve(part.size() * count);
  for (size_t i = 0; i < count; ++i) text += part;
  return text;
}

// `part` with # for a number that counts, as often as the limits allow for one of so many values.
std::string Filled(std::string_view before, std::string_view part, size_t values,
                   std::string_view after) {
  std::string text(before);
  const size_t parts = (limits::kManifestValuesMax - 50) / values;
  for (size_t i = 0; i < parts; ++i) {
    if (text.size() + part.size() + after.size() + 12 > limits::kManifestBytesMax) break;
    for (const char c : part) c == '#' ? text += std::to_string(i) : text += c;
  }
  text += after;
  return text;
}

const std::string kOpenHeader = "apiVersion: paceline.dev/v1alpha1\nkind: TrainingJob\n";
const std::string kHeader = kOpenHeader + "metadata: {name: a}\n";

struct Hostile {
  std::string name;
  std::string text;
};

std::vector<Hostile> HostileTexts() {
  const std::string anchor = "a: &a [" + Repeat("1,", 50'000) + "]\n";
  const std::string long_key(400'000, 'k');
  std::string doubled = "a0: &a0 [x,x]\n";
  for (int i = 1; i < 64; ++i) doubled += fmt::format("a{0}: &a{0} [*a{1}, *a{1}]\n", i, i - 1);
  std::string chained = "a0: &a0 [x]\n";
  for (int i = 1; i < 30'000; ++i) chained += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  return {
      {"AnAnchorWithManyAliases", anchor + "b: [" + Repeat("*a,", 50'000) + "]\n"},
      {"AliasesOfAliases", doubled},
      {"AChainOfAliases", chained},
      {"NestedAnchors", Filled("x: ", "&a# [", 2, "")},
      {"FlatKeys", Filled("", "k#: 1\n", 2, "")},
      {"FlatKeysInFlow", Filled("{", "k#: 1,", 2, "}")},
      {"TheSameKey", Filled("", "k: 1\n", 2, "")},
      {"UnknownFields", Filled(kHeader + "spec:\n", "  k#: 1\n", 2, "")},
      {"UnknownFieldsThatAreNearlyKnown", Filled(kHeader + "spec:\n", "  worker#: {}\n", 2, "")},
      {"Labels",
       Filled(kOpenHeader + "spec: {}\nmetadata: {name: a, labels: {", "k#: v,", 2, "}}\n")},
      {"WrongLabels",
       Filled(kOpenHeader + "spec: {}\nmetadata: {name: a, labels: {", "k#: 1,", 2, "}}\n")},
      {"Delays",
       Filled(kHeader + "spec: {chaos: {enabled: true, delays: [", "{kind: Ratio},", 3, "]}}")},
      {"WrongDelays", Filled(kHeader + "spec: {chaos: {enabled: true, delays: [", "7,", 1, "]}}")},
      {"DelaysOfUnknownWorkers",
       Filled(kHeader + "spec: {chaos: {delays: [{workers: [", "#,", 1, "]}]}}")},
      {"Containers", Filled(kHeader + "spec: {workers: {template: {spec: {containers: [",
                            "{name: a},", 3, "]}}}}")},
      {"Environment",
       Filled(kHeader + "spec: {workers: {template: {spec: {containers: [{name: worker, env: [",
              "{name: A#},", 3, "]}]}}}}")},
      {"Mounts", Filled(kHeader + "spec: {workers: {template: {spec: {containers: [{name: worker, "
                                  "volumeMounts: [",
                        "{name: a#, mountPath: /#},", 5, "]}]}}}}")},
      {"OpenLists", Repeat("[", 1'000'000)},
      {"OpenMaps", Repeat("{a: ", 250'000)},
      {"NestedLists", Repeat("[", 500'000) + Repeat("]", 500'000)},
      {"NestedBlocks", Repeat("- ", 500'000)},
      {"QuestionMarks", Repeat("? ", 500'000)},
      {"OpenQuote", "a: \"" + Repeat("x ", 500'000)},
      {"ManyLinesOfOneWord", Repeat("x\n", 500'000)},
      {"Comments", Repeat("#\n", 500'000)},
      {"Tags", Repeat("!", 1'000'000)},
      {"Directives", Repeat("%TAG ! !\n", 100'000)},
      {"Documents", Repeat("---\n", 250'000)},
      {"Anchors", Filled("", "- &a# 1\n", 2, "")},
      {"WordsInARow", "a: " + Repeat("b ", 500'000)},
      {"ColonsInARow", Repeat("a:", 500'000)},
      {"MapsBelowALongKey", "? " + long_key + "\n: [" + Repeat("{},", 150'000) + "]\n"},
      {"TwiceBelowALongKey", "? " + long_key + "\n: {" + Repeat("b,", 150'000) + "}\n"},
      {"ManyLines", Repeat("\n", 1'000'000)},
      {"Numbers", "[" + Repeat("1_000,", 150'000) + "]"},
      {"ALongNumber", Repeat("9", 1'000'000)},
      {"ALongWord", Repeat("a", 1'000'000)},
  };
}

class HostileManifest : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileManifest, IsReadOrRefusedSoon) {
  const std::string& text = GetParam().text;
  ASSERT_LE(text.size(), limits::kManifestBytesMax);
  const double start = CpuSeconds();
  const Decoded loaded = LoadJob(text, {}, Capabilities::All());
  const double spent = CpuSeconds() - start;
  EXPECT_LT(spent, kPatienceSeconds);
  ASSERT_FALSE(loaded.errors.empty());
  EXPECT_LE(loaded.errors.size(), 2 * (limits::kManifestErrorsMax + 1));
  if (std::getenv("PACELINE_SHOW") != nullptr) {
    fmt::print("{:>32} {:8} bytes {:7.3f} s {:4} errors: {}\n", GetParam().name, text.size(), spent,
               loaded.errors.size(), ToString(loaded.errors[0]).substr(0, 120));
  }
}

INSTANTIATE_TEST_SUITE_P(Texts, HostileManifest, ::testing::ValuesIn(HostileTexts()),
                         [](const auto& info) { return info.param.name; });

std::string FirstError(const Decoded& decoded) {
  return decoded.errors.empty() ? "" : ToString(decoded.errors[0]);
}

TEST(ManifestLimits, AreNamedWithTheValueThatIsTooLarge) {
  const auto error = [](const std::string& text) {
    return FirstError(LoadJob(text, {}, Capabilities::All()));
  };
  EXPECT_EQ(error("# " + std::string(limits::kManifestBytesMax - 1, 'x')),
            "must be at most 1048576 bytes long: got 1048577");
  EXPECT_EQ(
      error("a:\n  b: " + Repeat("[", 101) + Repeat("]", 101)),
      "line 2: a.b" + Repeat("[0]", 98) + ": nested deeper than 100 levels; a manifest is flatter");
  EXPECT_EQ(error("a: &a [" + Repeat("1,", 30'000) + "]\nb: [1, *a, *a]"),
            "line 2: b[2]: more than 100000 values; a manifest is smaller");
  EXPECT_EQ(error("a:\n  ? " + std::string(1025, 'k') + "\n  : 1"),
            "line 2: a: holds a key of more than 1024 bytes");
  const Decoded twice = LoadJob(Repeat("k: 1\n", 1'000), {}, Capabilities::All());
  ASSERT_EQ(twice.errors.size(), limits::kManifestErrorsMax + 1);
  EXPECT_EQ(ToString(twice.errors.back()), "line 102: more than 100 errors; the rest was not read");
}

TEST(ManifestLimits, WhatReachesThemIsRead) {
  EXPECT_TRUE(ParseYaml("a: " + Repeat("[", 99) + Repeat("]", 99)).errors.empty());
  EXPECT_TRUE(ParseYaml("[" + Repeat("1,", limits::kManifestValuesMax - 1) + "]").errors.empty());
  EXPECT_TRUE(ParseYaml(std::string(1024, 'k') + ": 1").errors.empty());
  EXPECT_TRUE(ParseYaml("a: 1 #" + std::string(limits::kManifestBytesMax - 6, 'x')).errors.empty());
}

TEST(ManifestLimits, ManyErrorsEndInOneThatSaysSo) {
  std::string fields = kHeader + "spec:\n";
  for (int i = 0; i < 500; ++i) fields += fmt::format("  zz{}: 1\n", i);
  const Decoded many = LoadJob(fields, {}, Capabilities::All());
  ASSERT_EQ(many.errors.size(), limits::kManifestErrorsMax + 1);
  EXPECT_EQ(many.errors.back().message, "more than 100 errors; the rest is not listed");
}

TEST(ManifestLimits, HoldWithOverrides) {
  std::string path = "a";
  for (int i = 0; i < 200'000; ++i) path += ".a";
  Node root = ParseYaml("{}").root;
  const Status deep = ApplyOverride(root, path + "=1");
  EXPECT_EQ(deep.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(deep), "an override's path must have at most 100 steps: got 200001");
  const std::string list = "[" + Repeat("1,", 60'000) + "]";
  EXPECT_EQ(FirstError(LoadJob(kHeader, {"spec.a=" + list, "spec.b=" + list}, {})),
            "spec.b[39992]: more than 100000 values; a manifest is smaller");
  EXPECT_THAT(Message(ApplyOverride(root, "a=" + Repeat("[", 200) + Repeat("]", 200))),
              HasSubstr("override of a: nested deeper than 100 levels"));
}

// What a coordinator is sent, and a job's file.
TEST(ManifestLimits, HoldForJson) {
  const auto error = [](const std::string& text) { return FirstError(FromJsonText(text)); };
  const double start = CpuSeconds();
  EXPECT_EQ(error(std::string(limits::kStoredJobBytesMax + 1, ' ')),
            "must be at most 4194304 bytes long: got 4194305");
  EXPECT_THAT(error("{\"a\":" + Repeat("[", 1'000'000) + Repeat("]", 1'000'000) + "}"),
              HasSubstr("nested deeper than 100 levels"));
  EXPECT_THAT(error(Repeat("{\"a\":", 500'000) + "1" + Repeat("}", 500'000)),
              HasSubstr("a.a.a: nested deeper than 100 levels"));
  EXPECT_EQ(error("{\"spec\":[" + Repeat("0,", 1'000'000) + "0]}"),
            "spec[199998]: more than 200000 values; a manifest is smaller");
  EXPECT_THAT(error("{\"" + std::string(2'000, 'k') + "\":1}"), HasSubstr("more than 1024 bytes"));
  EXPECT_LT(CpuSeconds() - start, kPatienceSeconds);
}

// Two templates of many keys that are nearly the same.
TEST(ManifestLimits, ManyKeysAreComparedSoon) {
  TrainingJob from, to;
  Node many(Node::Kind::kMap), turned(Node::Kind::kMap);
  for (int i = 0; i < 90'000; ++i) many.members.push_back({std::to_string(i), Node(), 0});
  turned.members.assign(many.members.rbegin(), many.members.rend());
  const double start = CpuSeconds();
  EXPECT_TRUE(many == turned);
  turned.members.back().value = Node::Bool(true);
  EXPECT_FALSE(many == turned);
  from.spec.model.torch_script = "a";
  to.spec.model.torch_script = "b";
  EXPECT_EQ(ValidateChange(from, to).size(), 1u);
  EXPECT_LT(CpuSeconds() - start, kPatienceSeconds);
}

}  // namespace
}  // namespace paceline::job
