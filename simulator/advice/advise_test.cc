// From a trace to what is said of it.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "simulator/advice/advice_text.h"
#include "simulator/advice/testing.h"

namespace paceline::simulator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPlain = R"({"type": "SGD"})";
constexpr const char* kMomentum = R"({"type": "SGD", "sgd": {"momentum": 0.5}})";

StatusOr<Report> AdvisedOf(const std::string& trace, const std::string& job) {
  return Advise(trace, job,
                {.source = "run", .seeds = 2, .on_arm = [](const std::string&, size_t, size_t) {}});
}

Report Advised(const std::string& trace, const std::string& job) {
  StatusOr<Report> report = AdvisedOf(trace, job);
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

// Half of the workers at half the speed.
std::string Mixed(const std::string& policy) {
  return testing::TraceOf(policy, {1, 0.5, 1, 0.5}, 40);
}

TEST(Advise, SharingBatchesBySpeedIsFoundWhereSpeedsDiffer) {
  const std::string trace = Mixed("BSP");
  const Report report = Advised(trace, testing::JobOf(4, kMomentum));
  ASSERT_TRUE(report.advice.best) << AdviceText(report);
  const ArmAdvice& best = report.advice.arms[*report.advice.best];
  EXPECT_FALSE(best.mixes_versions) << "the job has momentum";
  EXPECT_GT(best.SureGain()->low, 1.1);
  EXPECT_EQ(report.advice.Recorded().name, "bsp");
  const std::string text = AdviceText(report);
  EXPECT_THAT(text, HasSubstr("bsp (recorded)"));
  EXPECT_THAT(text, HasSubstr(ManifestLines(best.lines)));
  EXPECT_THAT(text, HasSubstr("* Its pushes count on versions that are newer"));
  EXPECT_THAT(text, HasSubstr("Gradients are the objective's"));
  EXPECT_THAT(text, HasSubstr("22 % and 33 % too long"));
  EXPECT_EQ(text, AdviceText(Advised(trace, testing::JobOf(4, kMomentum)))) << "no chance in it";
}

double GainOf(const Report& report, const std::string& arm) {
  const auto found = std::ranges::find(report.advice.arms, arm, &ArmAdvice::name);
  return found->equal.gain->median;
}

// A warm-up is over after so many samples: versions of fewer pushes make more of them meanwhile.
TEST(Advise, AWarmUpTakesMoreVersionsWhereTheyAreOfFewerPushes) {
  const std::string trace = Mixed("BSP"), job = testing::JobOf(4, kPlain);
  const Report without = Advised(trace, job), with = Advised(trace, testing::WithWarmUp(job, 40));
  EXPECT_LT(GainOf(with, "backup:2"), 0.95 * GainOf(without, "backup:2"));
}

// What the recorded scheme takes there is told of as many versions: a worker that became slow late
// is slow late, however soon the objective comes to its goal.
TEST(Advise, TheRecordedSchemeIsHeldBesideTheRecordingOverAsManyVersions) {
  const Report report =
      Advised(testing::TraceOf("BSP", {1, 1, 1}, 120, {{.at_seconds = 110, .factor = 6}}),
              testing::JobOf(3, kPlain));
  const double recorded =
      report.recording.seconds / static_cast<double>(report.recording.versions - 1);
  EXPECT_NEAR(report.simulated_seconds, recorded, 0.1 * recorded);
  EXPECT_GT(std::abs(report.advice.Recorded().equal.step_seconds - recorded), 0.2 * recorded);
  EXPECT_THAT(AdviceText(report), HasSubstr(" %, over as many."));
}

TEST(Advise, ARecordedSchemeThatIsNoCandidateIsHeldAgainstThemAll) {
  const Report report = Advised(Mixed("SSP staleness=5"), testing::JobOf(4, kPlain));
  EXPECT_EQ(report.advice.Recorded().name, "recorded");
  EXPECT_NEAR(report.advice.Recorded().equal.gain->low, 1, 1e-12);
  EXPECT_EQ(report.advice.arms.size(), 19u);
}

TEST(Advise, OneWorkerHasTheBestSchemeThereIs) {
  const Report report = Advised(testing::TraceOf("BSP", {1}, 40), testing::JobOf(1, kPlain));
  EXPECT_FALSE(report.advice.best);
  EXPECT_THAT(AdviceText(report), HasSubstr("Nothing is surely faster"));
  EXPECT_THAT(AdviceText(report), Not(HasSubstr("  sync:")));
}

TEST(Advise, ATraceAloneSaysWhatItDoesNotKnow) {
  EXPECT_THAT(AdviceText(Advised(Mixed("BSP"), "")),
              HasSubstr("The trace does not say the job's optimizer"));
}

TEST(Advise, WhatIsLeftOutIsSaidWithTheReason) {
  const Report report =
      Advised(Mixed("BSP deterministic"), testing::JobOf(4, kPlain, R"(, "deterministic": true)"));
  EXPECT_THAT(AdviceText(report),
              HasSubstr("asp, kbatchasync:2, wbsp:overlap, psplus (spec.training.deterministic: "
                        "needs sync.scheme BSP)\n"));
}

TEST(Advise, ProgramsGetTheSameFigures) {
  const Report report = Advised(Mixed("BSP"), testing::JobOf(4, kPlain));
  const auto json = nlohmann::json::parse(AdviceJson(report));
  EXPECT_EQ(json["workers"], 4);
  EXPECT_EQ(json["arms"].size(), report.advice.arms.size());
  const ArmAdvice& best = report.advice.arms[*report.advice.best];
  EXPECT_EQ(json["best"], best.name);
  EXPECT_EQ(json["arms"][*report.advice.best]["equal_rates"]["speed"]["low"], best.equal.gain->low);
  EXPECT_EQ(json["sync"], InOneLine(best.lines));
}

Report AdvisedOnOneMachine(const std::string& trace, const std::string& job) {
  StatusOr<Report> report = Advise(trace, job,
                                   {.source = "run",
                                    .is_on_one_machine = true,
                                    .seeds = 2,
                                    .on_arm = [](const std::string&, size_t, size_t) {}});
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

TEST(Advise, WhatProcessesOfOneMachineDidToEachOtherIsNoGain) {
  const std::string &trace = testing::IrregularTrace(), job = testing::JobOf(6, kMomentum);
  const Report report = AdvisedOnOneMachine(trace, job);
  EXPECT_FALSE(report.advice.best) << AdviceText(report);
  ASSERT_NE(report.advice.Refused(), nullptr);
  const ArmAdvice& refused = *report.advice.Refused();
  EXPECT_GT(refused.SureGain()->median, 1.2);
  EXPECT_LT(refused.still->median, kGainMin);
  EXPECT_THAT(AdviceText(report),
              HasSubstr(fmt::format("Nothing would have been faster than bsp: {} was {:.2f} (",
                                    refused.name, refused.SureGain()->median)));
  EXPECT_THAT(AdviceText(report),
              HasSubstr(fmt::format("times as fast on what was recorded, and {:.2f} (",
                                    refused.still->median)));
  EXPECT_THAT(AdviceText(report), HasSubstr("All shared one machine"));
  const auto json = nlohmann::json::parse(AdviceJson(report));
  EXPECT_TRUE(json["on_one_machine"]);
  EXPECT_TRUE(json["best"].is_null());
  EXPECT_EQ(json["refused"]["arm"], refused.name);
  EXPECT_EQ(json["refused"]["speed"]["median"], refused.SureGain()->median);
  EXPECT_EQ(json["refused"]["still_speed"]["median"], refused.still->median);

  // Of a cluster's workers all that they do is their own.
  const Report cluster = Advised(trace, job);
  ASSERT_TRUE(cluster.advice.best);
  EXPECT_EQ(cluster.advice.arms[*cluster.advice.best].name, refused.name);
  EXPECT_FALSE(cluster.still);
  EXPECT_THAT(AdviceText(cluster), Not(HasSubstr("one machine")));
  EXPECT_FALSE(nlohmann::json::parse(AdviceJson(cluster))["on_one_machine"]);
}

TEST(Advise, OfOneMachineWhatWasInjectedIsAdvisedOnAsOfACluster) {
  const std::string trace = testing::Injected(testing::IrregularTrace());
  const std::string job = testing::JobOf(6, kMomentum);
  const Report report = AdvisedOnOneMachine(trace, job), cluster = Advised(trace, job);
  ASSERT_TRUE(report.advice.best) << AdviceText(report);
  const ArmAdvice& best = report.advice.arms[*report.advice.best];
  EXPECT_EQ(best.name, cluster.advice.arms[*cluster.advice.best].name);
  EXPECT_EQ(report.advice.as_good, cluster.advice.as_good);
  EXPECT_EQ(report.advice.Refused(), nullptr);
  EXPECT_NEAR(best.still->median, best.SureGain()->median, 0.2 * best.still->median);
  EXPECT_THAT(AdviceText(report),
              HasSubstr(fmt::format("- All shared one machine. Without what its "
                                    "processes did to each other {} is {:.2f}",
                                    best.name, best.still->median)));
}

// Where each has its best rate that is on the edge, where one seed says little.
TEST(Advise, OnTheStillClusterTheMedianIsEnoughAtTheBestRates) {
  const Report report = AdvisedOnOneMachine(testing::Injected(testing::IrregularTrace()),
                                            testing::JobOf(6, kMomentum));
  EXPECT_TRUE(std::ranges::any_of(report.still->arms, [](const ArmAdvice& arm) {
    return arm.is_surely_faster && arm.best.gain->low <= 1;
  }));
}

// As a group of workers on a slower device is.
TEST(Advise, OfOneMachineWorkersThatAreSlowInEveryStepAreSlow) {
  const Report report = AdvisedOnOneMachine(Mixed("BSP"), testing::JobOf(4, kMomentum));
  ASSERT_TRUE(report.advice.best) << AdviceText(report);
  EXPECT_EQ(report.advice.Refused(), nullptr);
}

TEST(Advise, TooFewPushesAreNamed) {
  const StatusOr<Report> few = AdvisedOf(testing::TraceOf("BSP", {1, 1}, 9), "");
  ASSERT_FALSE(few.ok());
  EXPECT_THAT(Message(few.status()), HasSubstr("too few pushes to say how fast anything is"));
  EXPECT_THAT(Message(few.status()), HasSubstr("want 10"));
  EXPECT_FALSE(AdvisedOf("", "").ok());
}

}  // namespace
}  // namespace paceline::simulator
