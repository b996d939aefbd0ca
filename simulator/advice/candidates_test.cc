#include "simulator/advice/candidates.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/manifest/load.h"
#include "lib/job/policy_spec.h"
#include "simulator/advice/advice_text.h"
#include "simulator/advice/testing.h"

namespace paceline::simulator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSgd = R"({"type": "SGD"})";

std::vector<std::string> NamesFor(uint32_t workers) {
  std::vector<std::string> names;
  for (const Candidate& one : CandidatesFor(testing::JobOf(workers, kSgd), workers).all)
    names.push_back(one.name);
  return names;
}

TEST(Candidates, AreEverySchemeWithSettingsForItsWorkers) {
  EXPECT_THAT(
      NamesFor(8),
      ElementsAre("bsp", "lbbsp:ema", "backup:1", "backup:1+interrupt", "backup:2",
                  "backup:2+interrupt", "backup:4", "backup:4+interrupt", "dbw", "dbw+interrupt",
                  "dbw:noisescale", "dbw:noisescale+interrupt", "auto", "ssp:1", "ssp:3", "ssp:8",
                  "asp", "kbatchasync:2", "wbsp:overlap", "psplus"));
  EXPECT_THAT(NamesFor(16), Contains("kbatchasync:4"));
  EXPECT_THAT(NamesFor(16), Contains("backup:8"));
  EXPECT_THAT(NamesFor(2), Contains("backup:1"));
}

TEST(Candidates, OneWorkerHasNothingToChoose) { EXPECT_THAT(NamesFor(1), ElementsAre("bsp")); }

// What is to be pasted is what was simulated, and what the real checks let pass.
TEST(Candidates, TheirLinesAreAManifestsAndMeanTheirPolicy) {
  for (const uint32_t workers : {2u, 3u, 4u, 8u, 33u}) {
    const std::string job = testing::JobOf(workers, kSgd);
    const Candidates found = CandidatesFor(job, workers);
    EXPECT_THAT(found.left_out, IsEmpty());
    for (const Candidate& one : found.all) {
      const std::string manifest = ManifestLines(one.lines) + fmt::format(R"(  training:
    globalBatchSize: {}
    learningRate: {{base: 0.25}}
    stop: {{maxEpochs: 3}}
  workers: {{replicas: {}, command: [train]}}
apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: pasted}}
)",
                                                                          10 * workers, workers);
      const job::Decoded pasted = job::LoadJob(manifest, {}, job::Capabilities());
      ASSERT_THAT(pasted.errors, IsEmpty()) << ToString(pasted.errors.front()) << manifest;
      EXPECT_EQ(job::PolicySpecFrom(pasted.job), one.policy) << manifest;
    }
  }
}

TEST(Candidates, SayWhoMixesVersionsAndWhoInterrupts) {
  for (const Candidate& one : CandidatesFor(testing::JobOf(8, kSgd), 8).all) {
    const bool is_auto = one.name == "auto";
    const bool waits = one.name.find("bsp") == 0 || one.name == "lbbsp:ema" ||
                       one.name.starts_with("backup") || one.name.starts_with("dbw");
    EXPECT_EQ(one.mixes_versions, !waits) << one.name;
    EXPECT_EQ(Interrupts(one.policy), is_auto || one.name.ends_with("+interrupt")) << one.name;
  }
}

TEST(Candidates, AutoMixesVersionsWhereThereIsNoMomentum) {
  for (const bool has_momentum : {false, true}) {
    const std::string optimizer =
        fmt::format(R"({{"type": "SGD", "sgd": {{"momentum": {}}}}})", has_momentum ? 0.9 : 0);
    for (const Candidate& one : CandidatesFor(testing::JobOf(8, optimizer), 8).all) {
      if (one.name != "auto") continue;
      EXPECT_EQ(one.mixes_versions, !has_momentum);
    }
  }
}

TEST(Candidates, WhatTheJobsChecksRefuseIsLeftOutWithTheReason) {
  const Candidates found = CandidatesFor(testing::JobOf(4, kSgd, R"(, "deterministic": true)"), 4);
  ASSERT_EQ(found.all.size(), 1u);
  EXPECT_EQ(found.all.front().name, "bsp");
  EXPECT_THAT(found.left_out.front().reason, HasSubstr("spec."));
}

TEST(Candidates, DbwIsBlindWhereStepsAreNotTheGradients) {
  const Candidates found = CandidatesFor(testing::JobOf(4, R"({"type": "AdamW"})"), 4);
  EXPECT_THAT(found.left_out, IsEmpty());
  EXPECT_TRUE(std::ranges::any_of(
      found.all, [](const Candidate& one) { return one.name == "dbw:blind+interrupt"; }));
}

}  // namespace
}  // namespace paceline::simulator
