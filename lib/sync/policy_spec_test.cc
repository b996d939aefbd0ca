#include "lib/sync/policy_spec.h"

#include <gmock/gmock.h>

#include "lib/sync/policy_factory.h"

namespace paceline::sync {
namespace {

using ::testing::HasSubstr;

TEST(PolicySpec, TextReadsBackAsItWasWritten) {
  for (const char* line : {
           "BSP batch=256 workers=4",
           "BSP batch=256 workers=4 deterministic",
           "BackupWorkers batch=256 workers=4 backup=2",
           "SSP batch=256 workers=4 staleness=0",
           "SSP batch=256 workers=4 staleness=unbounded update-scale=full",
           "ASP batch=256 workers=4 first-version=v12",
       }) {
    const StatusOr<PolicySpec> spec = ParsePolicySpec(line);
    ASSERT_TRUE(spec.ok()) << line << ": " << spec.status();
    EXPECT_EQ(FormatPolicySpec(*spec), line);
  }
}

TEST(PolicySpec, DefaultsAreLeftOutAndFoundAgain) {
  const StatusOr<PolicySpec> spec = ParsePolicySpec("ssp");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(*spec, PolicySpec{.scheme = Scheme::kSsp});
}

TEST(PolicySpec, ABadSpecIsRefusedByTheFieldThatIsWrong) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"", "scheme is missing"},
      {"DBSP", "scheme is unknown: got DBSP, want BSP, SSP, ASP or BackupWorkers"},
      {"BSP batch=0", "global batch size is 0, want at least 1"},
      {"BSP workers=0", "number of workers expected is 0, want at least 1"},
      {"BSP batch=many", "batch is not valid: many"},
      {"SSP staleness=-1", "staleness is not valid: -1"},
      {"ASP update-scale=half", "update-scale is not valid: half"},
      {"BSP colour=red", "unknown field: colour=red"},
  };
  for (const auto& [text, message] : cases) {
    const StatusOr<PolicySpec> spec = ParsePolicySpec(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_THAT(Message(spec.status()), HasSubstr(message)) << text;
  }
}

TEST(PolicyFactory, MakesEveryScheme) {
  for (const auto& [scheme, name] : WordsOf(Scheme{})) {
    const auto policy = MakePolicy({.scheme = scheme});
    ASSERT_TRUE(policy.ok()) << name;
    const auto again = MakePolicy({.scheme = scheme}, (*policy)->Save());
    EXPECT_TRUE(again.ok()) << name << ": " << again.status();
  }
}

TEST(PolicyFactory, RefusesWhatAnotherSchemeSaved) {
  EXPECT_EQ(MakePolicy({}, "learnt").status().code(), StatusCode::kDataLoss);
}

TEST(PolicyFactory, RefusesAnEmptyBatch) {
  EXPECT_EQ(MakePolicy({.global_batch_size = 0}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paceline::sync
