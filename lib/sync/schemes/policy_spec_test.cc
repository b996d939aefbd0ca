#include "lib/sync/schemes/policy_spec.h"

#include <gmock/gmock.h>

#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/schemes/presets.h"

namespace paceline::sync {
namespace {

using ::testing::HasSubstr;

TEST(PolicySpec, TextReadsBackAsItWasWritten) {
  for (const char* line : {
           "BSP batch=256 workers=4",
           "BSP batch=256 workers=4 deterministic",
           "BackupWorkers batch=256 workers=4 backup=2",
           "BSP batch=256 workers=4 sizing=EMA batch-min=8 batch-max=100 newest-weight=0.5",
           "BackupWorkers batch=256 workers=4 sizing=Stepwise sizing-period=10 dead-band=0.1 "
           "rapid=1",
           "BSP batch=256 workers=4 sizing=NARX",
           "SSP batch=256 workers=4 staleness=0",
           "SSP batch=256 workers=4 staleness=unbounded update-scale=full",
           "ASP batch=256 workers=4 first-version=v12",
           "DBW batch=256 workers=4",
           "DBW batch=256 workers=4 dbw-method=blind dbw-window=5 dbw-beta=1.5 dbw-warm-up=1 "
           "dbw-k-min=2 dbw-refit=9 dbw-aging=0.5 dbw-late=interrupt dbw-no-gain=hold "
           "dbw-loss-rule=off dbw-rate-rule=table dbw-rates=0.5,0.75,1 dbw-momentum=0.9 "
           "dbw-silence-factor=3 dbw-silence-seconds=7.5 dbw-ada-k=2 dbw-ada-seconds=30",
           "BSP batch=256 workers=4 quorum=3 reach=2 late=drop meanwhile=eager-pull",
           "BSP batch=256 workers=4 quorum=dbw late=weigh window=2 meanwhile=wait "
           "modulate=exponential late-worker=leave scale=full",
           "SSP batch=256 workers=4 quorum=all",
           "WBSP batch=256 workers=4 outer-lr=0.7 outer-momentum=0.9 outer-nesterov",
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
      {"DBSP", "scheme is unknown: got DBSP, want one of BSP, SSP"},
      {"BSP batch=0", "global batch size is 0, want at least 1"},
      {"BSP workers=0", "number of workers expected is 0, want at least 1"},
      {"BSP batch=many", "batch is not valid: many"},
      {"SSP staleness=-1", "staleness is not valid: -1"},
      {"ASP update-scale=half", "update-scale is not valid: half"},
      {"BSP colour=red", "unknown field: colour=red"},
      {"BSP quorum=0", "quorum is 0, want at least 1 push"},
      {"BSP quorum=few", "quorum is not valid: few"},
      {"KAsync", "quorum must be a number with scheme KAsync, which has no other K"},
      {"KBatchAsync quorum=all", "quorum must be a number with scheme KBatchAsync"},
      {"BackupWorkers quorum=2", "quorum must be absent with scheme BackupWorkers"},
      {"DBW quorum=2", "quorum must be DBW or absent with scheme DBW"},
      {"Auto quorum=2", "quorum must be absent with scheme Auto"},
      {"Auto reach=1", "reach must be absent with scheme Auto"},
      {"Auto late=weigh", "late must be absent with scheme Auto"},
      {"Auto window=1", "staleness must be absent with scheme Auto"},
      {"Auto meanwhile=go-on", "meanwhile must be absent with scheme Auto"},
      {"Auto modulate=inverse", "modulation must be absent with scheme Auto"},
      {"Auto outer-lr=0.7 outer-momentum=0", "outer must be absent with scheme Auto"},
      {"Auto scale=full", "updateScale must be absent with scheme Auto"},
      {"Auto sizing=EMA", "batchSizing.strategy must be Equal with scheme Auto"},
      {"Auto deterministic", "scheme must not be Auto in deterministic training"},
      {"BSP reach=2 late=weigh", "reach must be absent with late Weigh"},
      {"SSP reach=2", "reach needs late Drop with scheme SSP"},
      {"BSP window=2", "staleness must be absent where late pushes are dropped"},
      {"SSP late=drop", "late must be Weigh or absent where staleness is bounded"},
      {"BSP meanwhile=eager-pull reach=0", "reach must be at least 1 with meanwhile EagerPull"},
      {"BSP reach=1 modulate=inverse", "modulation needs late Weigh"},
      {"SSP meanwhile=local-steps", "meanwhile must not be LocalSteps where every push counts"},
      {"WBSP late=weigh", "late must not be LocalSteps where every push counts"},
      {"BSP late-worker=interrupt reach=1", "lateWorker must not be Interrupt where a late push"},
      {"DBW dbw-late=interrupt late=weigh", "dbw.lateWorker must not be Interrupt where a late"},
      {"WBSP trigger=designated quorum=2", "quorum must be All with wbsp.trigger Designated"},
      {"BSP deterministic meanwhile=go-on", "meanwhile must be Wait in deterministic training"},
      {"PSPlus update-scale=full quorum=2", "psPlus.updateScale must be PerWorker where several"},
      {"BSP outer-lr=1 outer-momentum=0", "outer must be absent without meanwhile LocalSteps"},
      {"WBSP outer-lr=0 outer-momentum=0", "outer-lr is 0, want a number above 0"},
      {"WBSP outer-lr=1 outer-momentum=1", "outer-momentum is 1, want at least 0"},
      {"WBSP outer-lr=1 outer-momentum=0 outer-nesterov", "outer-nesterov needs outer-momentum"},
      {"KBatchAsync quorum=dbw", "quorum must be a number with scheme KBatchAsync"},
      {"DBW meanwhile=local-steps", "dbw.method must be Blind or AdaSync where workers push"},
      {"DBW dbw-method=noise-scale meanwhile=eager-pull",
       "dbw.method must be Blind or AdaSync where workers push"},
      {"DBW dbw-method=blind dbw-rate-rule=proportional meanwhile=eager-pull",
       "dbw.learningRateRule must be Constant where workers push local steps"},
      {"BSP batch-min=0", "least batch is 0, want at least 1"},
      {"BSP batch-min=9 batch-max=8", "largest batch is 8, want at least the least, 9"},
      {"BSP newest-weight=0", "weight of the newest is 0, want more than 0"},
      {"BSP sizing-period=0", "period is 0, want at least 1 step"},
      {"BSP dead-band=0.3", "rapid is 0.3, want more than the dead band, 0.3"},
      {"DBW dbw-window=0", "dbw-window is 0, want at least 1"},
      {"DBW dbw-method=guess", "dbw-method is not valid: guess"},
      {"DBW dbw-momentum=1", "dbw-momentum is 1, want at least 0"},
      {"DBW dbw-rates=1,0", "factor in dbw-rates is 0"},
      {"DBW dbw-rates=1,", "dbw-rates is not valid: 1,"},
      {"DBW dbw-rate-rule=table", "dbw-rates is empty"},
  };
  for (const auto& [text, message] : cases) {
    const StatusOr<PolicySpec> spec = ParsePolicySpec(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_THAT(Message(spec.status()), HasSubstr(message)) << text;
  }
}

TEST(PolicyFactory, MakesEveryScheme) {
  for (const auto& [scheme, name] : WordsOf(Scheme{})) {
    PolicySpec spec{.scheme = scheme};
    if (IsKToBeSaid(scheme)) spec.parts.quorum = {QuorumChoice::Rule::kCount, 1};
    const auto policy = MakePolicy(spec);
    ASSERT_TRUE(policy.ok()) << name;
    const auto again = MakePolicy(spec, (*policy)->Save());
    EXPECT_TRUE(again.ok()) << name << ": " << again.status();
  }
}

TEST(PolicyFactory, RefusesWhatAnotherSchemeSaved) {
  EXPECT_EQ(MakePolicy({}, "learnt").status().code(), StatusCode::kDataLoss);
}

TEST(PolicyFactory, RefusesAnEmptyBatch) {
  EXPECT_EQ(MakePolicy({.global_batch_size = 0}).status().code(), StatusCode::kInvalidArgument);
}

TEST(MayReconfigure, AsksWhetherTheSchemeTakesItOver) {
  const PolicySpec ssp = *ParsePolicySpec("SSP batch=4 workers=2 staleness=1");
  const auto may = [&](const char* to) { return MayReconfigure(ssp, *ParsePolicySpec(to)); };
  EXPECT_TRUE(may("SSP batch=4 workers=2 staleness=1"));
  EXPECT_TRUE(may("SSP batch=4 workers=2 staleness=4 update-scale=full backup=2"));
  EXPECT_TRUE(may("SSP batch=4 workers=2 staleness=unbounded"));
  EXPECT_TRUE(may("DBW batch=4 workers=2 sizing=NARX"));
  EXPECT_TRUE(may("KBatchAsync batch=4 workers=2 quorum=2"));
  EXPECT_FALSE(may("SSP batch=4 workers=2 staleness=1 meanwhile=eager-pull"));
  EXPECT_FALSE(may("WBSP batch=4 workers=2"));
  EXPECT_FALSE(may("SSP batch=8 workers=2 staleness=1"));
  EXPECT_FALSE(may("BSP batch=4 workers=2 deterministic"));
}

}  // namespace
}  // namespace paceline::sync
