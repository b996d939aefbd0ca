#include "lib/compare/arm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> OverridesOf(const std::string& text) {
  const StatusOr<std::vector<Arm>> arms = ParseArms(text);
  EXPECT_TRUE(arms.ok()) << arms.status();
  if (!arms.ok() || arms->size() != 1) return {};
  EXPECT_EQ(arms->front().name, text);
  // Of what is no part of the scheme, nothing is left of the manifest.
  std::vector<std::string> overrides = arms->front().overrides;
  EXPECT_EQ(std::erase_if(overrides, [](const auto& one) { return one.ends_with("=null"); }), 9u);
  return overrides;
}

TEST(Arms, AreSchemesByName) {
  EXPECT_THAT(OverridesOf("bsp"),
              ElementsAre("spec.sync.scheme=BSP", "spec.sync.batchSizing.strategy=Equal"));
  EXPECT_THAT(OverridesOf("asp"),
              ElementsAre("spec.sync.scheme=ASP", "spec.sync.batchSizing.strategy=Equal"));
}

TEST(Arms, HaveAKnobBehindTheColon) {
  EXPECT_THAT(OverridesOf("ssp:3"),
              ElementsAre("spec.sync.scheme=SSP", "spec.sync.batchSizing.strategy=Equal",
                          "spec.sync.ssp.staleness=3"));
  EXPECT_THAT(OverridesOf("backup:2"),
              ElementsAre("spec.sync.scheme=BackupWorkers", "spec.sync.batchSizing.strategy=Equal",
                          "spec.sync.backupWorkers.count=2"));
  EXPECT_THAT(OverridesOf("wbsp"),
              ElementsAre("spec.sync.scheme=WBSP", "spec.sync.batchSizing.strategy=Equal",
                          "spec.sync.wbsp.overlap=false"));
  EXPECT_THAT(OverridesOf("wbsp:overlap"),
              ElementsAre("spec.sync.scheme=WBSP", "spec.sync.batchSizing.strategy=Equal",
                          "spec.sync.wbsp.overlap=true"));
  EXPECT_THAT(OverridesOf("dbw"),
              ElementsAre("spec.sync.scheme=DBW", "spec.sync.batchSizing.strategy=Equal",
                          "spec.sync.dbw.method=Gain"));
  EXPECT_THAT(OverridesOf("dbw:blind"),
              ElementsAre("spec.sync.scheme=DBW", "spec.sync.batchSizing.strategy=Equal",
                          "spec.sync.dbw.method=Blind"));
  EXPECT_THAT(OverridesOf("dbw:adasync"),
              ElementsAre("spec.sync.scheme=DBW", "spec.sync.batchSizing.strategy=Equal",
                          "spec.sync.dbw.method=AdaSync"));
  EXPECT_THAT(OverridesOf("lbbsp"),
              ElementsAre("spec.sync.scheme=BSP", "spec.sync.batchSizing.strategy=NARX"));
  EXPECT_THAT(OverridesOf("lbbsp:ema"),
              ElementsAre("spec.sync.scheme=BSP", "spec.sync.batchSizing.strategy=EMA"));
}

TEST(Arms, MaySizeBatchesBehindThePlus) {
  EXPECT_THAT(OverridesOf("dbw+ema"),
              ElementsAre("spec.sync.scheme=DBW", "spec.sync.batchSizing.strategy=Equal",
                          "spec.sync.dbw.method=Gain", "spec.sync.batchSizing.strategy=EMA"));
  EXPECT_THAT(
      OverridesOf("backup:1+stepwise"),
      ElementsAre("spec.sync.scheme=BackupWorkers", "spec.sync.batchSizing.strategy=Equal",
                  "spec.sync.backupWorkers.count=1", "spec.sync.batchSizing.strategy=Stepwise"));
}

TEST(Arms, MayComputeInLess) {
  EXPECT_THAT(OverridesOf("bsp+bfloat16"),
              ElementsAre("spec.sync.scheme=BSP", "spec.sync.batchSizing.strategy=Equal",
                          "spec.training.precision=BFloat16"));
  EXPECT_THAT(OverridesOf("asp+float16+eager"),
              ElementsAre("spec.sync.scheme=ASP", "spec.sync.batchSizing.strategy=Equal",
                          "spec.training.precision=Float16", "spec.sync.meanwhile=EagerPull"));
  EXPECT_FALSE(ParseArms("bsp+float16+bfloat16").ok());
}

TEST(Arms, AreComposedBehindThePluses) {
  EXPECT_THAT(OverridesOf("dbw:blind+eager+narx"),
              ElementsAre("spec.sync.scheme=DBW", "spec.sync.batchSizing.strategy=Equal",
                          "spec.sync.dbw.method=Blind", "spec.sync.meanwhile=EagerPull",
                          "spec.sync.batchSizing.strategy=NARX"));
  EXPECT_THAT(OverridesOf("backup:2+interrupt"),
              ElementsAre("spec.sync.scheme=BackupWorkers", "spec.sync.batchSizing.strategy=Equal",
                          "spec.sync.backupWorkers.count=2", "spec.sync.lateWorker=Interrupt"));
  EXPECT_THAT(OverridesOf("kbatchasync:4"),
              ElementsAre("spec.sync.scheme=KBatchAsync", "spec.sync.batchSizing.strategy=Equal",
                          "spec.sync.quorum=4"));
  EXPECT_THAT(OverridesOf("kasync:2+staleness"),
              ElementsAre("spec.sync.scheme=KAsync", "spec.sync.batchSizing.strategy=Equal",
                          "spec.sync.quorum=2", "spec.sync.modulation.rule=Staleness"));
}

TEST(Arms, ComeInTheOrderOfTheList) {
  const StatusOr<std::vector<Arm>> arms =
      ParseArms("bsp,ssp:3,asp,backup:2,dbw,lbbsp,wbsp,wbsp:overlap,psplus");
  ASSERT_TRUE(arms.ok()) << arms.status();
  ASSERT_EQ(arms->size(), 9);
  EXPECT_EQ(arms->front().name, "bsp");
  EXPECT_THAT(arms->back().overrides, ::testing::Contains("spec.sync.scheme=PSPlus"));
}

TEST(Arms, AreRefusedByName) {
  const auto error = [](const char* text) { return Message(ParseArms(text).status()); };
  EXPECT_THAT(error("bsp,spp:3"), HasSubstr("no such arm: \"spp:3\"; want some of bsp, ssp[:"));
  EXPECT_THAT(error(""), HasSubstr("no such arm: \"\""));
  EXPECT_THAT(error("bsp,"), HasSubstr("no such arm: \"\""));
  EXPECT_THAT(error("bsp,ssp:1,bsp"), HasSubstr("arm bsp comes twice"));
  EXPECT_THAT(error("bsp:3"), HasSubstr("arm bsp:3: must be"));
  EXPECT_THAT(error("ssp:"), HasSubstr("arm ssp:"));
  EXPECT_THAT(error("kasync"), HasSubstr("arm kasync: must be kasync:K"));
  EXPECT_THAT(error("kasync:"), HasSubstr("arm kasync:: must be kasync:K"));
  EXPECT_THAT(error("bsp+eager+goon"), HasSubstr("behind + must stand ema, narx"));
  EXPECT_THAT(error("lbbsp:fast"), HasSubstr("arm lbbsp:fast: must be lbbsp[:narx|ema|stepwise]"));
  EXPECT_THAT(error("dbw:deaf"),
              HasSubstr("arm dbw:deaf: must be dbw[:gain|blind|adasync|noisescale|star]"));
  EXPECT_THAT(error("wbsp:3"), HasSubstr("arm wbsp:3: must be wbsp[:overlap]"));
  EXPECT_THAT(error("dbw+fast"), HasSubstr("behind + must stand ema, narx, stepwise"));
  EXPECT_THAT(error("lbbsp:ema+narx"), HasSubstr("one for each part"));
}

}  // namespace
}  // namespace paceline::compare
