// Workers that go on from a copy of their own: WBSP's rounds (docs/schemes/wbsp.md) and what is
// learnt in them.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "simulator/driver/testing.h"

namespace paceline::simulator {
namespace {

using namespace testing;

// Local steps of a worker in a round, of equal workers but the last, over all rounds.
double MeanPushes(const Life& life) {
  return static_cast<double>(life.pushes) / static_cast<double>(life.versions.size());
}

TEST(LocalSteps, ARoundLastsAsLongAsTheSlowestsStepAndFastWorkersGoOn) {
  for (const char* policy : {"WBSP", "WBSP basic"}) {
    SCOPED_TRACE(policy);
    ClusterOptions options = Of(policy, {1, 1, 1, 1.0 / 3});
    options.steps_max = 200;
    const Life life = Lived(options);
    EXPECT_NEAR(MeanStep(life), 3, 0.05);
    EXPECT_NEAR(MeanPushes(life), 3 * 3 + 1, 0.1);
    EXPECT_EQ(life.dropped, 0u);
    EXPECT_NEAR(life.compute_seconds / (4 * life.seconds), 1, 0.02);
  }
}

TEST(LocalSteps, WithoutOverlapTransfersTakeTheirTime) {
  ClusterOptions options = Of("WBSP basic", {1, 1, 1, 0.5});
  options.network.latency_seconds = 0.1;
  options.steps_max = 200;
  const Life life = Lived(options);
  // (round - pull) / (compute + push) steps of the fast ones.
  EXPECT_NEAR(MeanStep(life), 2.2, 1e-6);
  EXPECT_NEAR(MeanPushes(life), 1 + 3 * (2.2 - 0.1) / 1.1, 0.05);
  EXPECT_NEAR(life.transfer_seconds / static_cast<double>(life.versions.size()),
              4 * 0.1 + 0.1 * MeanPushes(life), 0.02);
}

TEST(LocalSteps, OverlapHidesTransfersBehindComputing) {
  ClusterOptions options = Of("WBSP", {1, 1, 1, 1.0 / 3});
  options.network.latency_seconds = 0.4;
  options.steps_max = 200;
  const Life hidden = Lived(options);
  EXPECT_NEAR(MeanStep(hidden), 3, 0.05);
  EXPECT_GT(hidden.compute_seconds / (4 * hidden.seconds), 0.95);
  // Longer than a step, one push carries several.
  options = Of("WBSP", {1, 1, 1, 1});
  options.network.latency_seconds = 2.5;
  options.steps_max = 200;
  const Life slow = Lived(options);
  EXPECT_GT(slow.compute_seconds / (4 * slow.seconds), 0.8);
  EXPECT_LT(static_cast<double>(slow.pushes), slow.compute_seconds / 2);
}

// It stands still from 5 s on, with a step that waits for the first one's push. The version that
// this push makes is not there yet when that goes on its way; after that both take turns. (The
// third push is too old, and makes none.)
TEST(LocalSteps, WhatWaitsForAPushGoesBeforeTheVersionIsFetchedThatThePushMade) {
  ClusterOptions options = Of("WBSP", {1});
  options.network.latency_seconds = 3;
  options.steps_max = 4;
  std::vector<std::string> pushes;
  options.trace = [&pushes](std::string_view line) {
    if (line.find(" push w0") != std::string_view::npos)
      pushes.emplace_back(line.substr(0, line.find(" based-on")));
  };
  Lived(options);
  EXPECT_EQ(pushes, (std::vector<std::string>{"@7 push w0 #1", "@10 push w0 #2", "@16 push w0 #3",
                                              "@22 push w0 #4", "@25 push w0 #5"}));
}

// Each version holds some of its steps, each once. (With overlap a copy that takes a version over
// lacks what is on its way, as live, and what it computes then is another gradient.)
TEST(LocalSteps, AloneAWorkerLearnsAsPlainSgdHoweverPushesTravel) {
  for (const double latency : {0.0, 0.3, 1.7}) {
    for (const char* policy : {"WBSP", "WBSP basic", "BSP meanwhile=local-steps"}) {
      if (latency > 0 && std::string(policy) != "WBSP basic") continue;
      SCOPED_TRACE(::testing::Message() << policy << ' ' << latency);
      ClusterOptions options = Of(policy, {1});
      options.workers[0].jitter = ShiftedExponential{0.2, 0.8};
      options.network.latency_seconds = latency;
      options.commit_seconds = latency / 4;
      options.learning_rate = 0.2;
      options.momentum = 0.6;
      options.steps_max = 60;
      const std::vector<double> alone = LossesAlone(options, 1500);
      auto next = alone.begin();
      for (const VersionFacts& version : Lived(options).versions) {
        next = std::find_if(next, alone.end(), [&](double loss) {
          return std::abs(loss - version.loss) <= 1e-9 * loss;
        });
        ASSERT_NE(next, alone.end()) << "at " << version.at_seconds << " s";
        ++next;
      }
    }
  }
}

TEST(LocalSteps, AResetMomentumIsNone) {
  ClusterOptions options = Of("WBSP basic momentum=reset", {1});
  options.learning_rate = 0.2;
  options.steps_max = 40;
  const std::vector<double> alone = LossesAlone(options, options.steps_max);
  options.momentum = 0.9;
  const Life life = Lived(options);
  for (size_t i = 0; i < alone.size(); ++i)
    ASSERT_NEAR(life.versions[i].loss, alone[i], 1e-9 * alone[i]) << i;
}

// Where the rate is so small that gradients stay what they are, the model moves by 1/n of each
// step.
TEST(LocalSteps, EachStepMovesTheModelOnce) {
  for (const char* policy : {"WBSP", "WBSP basic", "WBSP trigger=designated"}) {
    SCOPED_TRACE(policy);
    ClusterOptions options = Of(policy, {1, 1.3, 0.7, 0.3});
    options.workers[0].jitter = Exponential{1};
    options.network.latency_seconds = 0.4;
    options.learning_rate = 2e-4;
    options.steps_max = 400;
    uint64_t steps = 0;
    options.trace = [&steps](std::string_view line) {
      const size_t at = line.find(" steps=");
      if (line.find(" push w") == std::string_view::npos) return;
      steps += at == std::string_view::npos ? 1 : std::stoul(std::string(line.substr(at + 7)));
    };
    const Life life = Lived(options);
    ASSERT_LT(life.dropped, 5u);
    Quadratic objective(options.objective);
    Values at = objective.Start();
    const double start = objective.Loss(at);
    for (size_t i = 0; i < at.size(); ++i)
      at[i] *= std::pow(1 - options.learning_rate / (i + 1.0), static_cast<double>(steps) / 4);
    EXPECT_NEAR((start - life.versions.back().loss) / (start - objective.Loss(at)), 1, 0.03);
  }
}

// What is unpushed when a version comes goes on top of it; or is pushed first, and is too old then
// now and again.
TEST(LocalSteps, AVersionThatComesTakesNoStepAway) {
  ClusterOptions options = Of("WBSP", {1, 1.3, 0.7});
  options.network.latency_seconds = 0.3;
  options.workers[0].jitter = Exponential{1};
  options.steps_max = 300;
  const Life kept = Lived(options);
  EXPECT_LT(kept.versions.back().loss, 0.1);
  options.policy = Of("WBSP on-pull=overwrite", {1, 1.3, 0.7}).policy;
  const Life pushed = Lived(options);
  EXPECT_LT(pushed.versions.back().loss, 0.1);
  EXPECT_LT(kept.dropped, pushed.dropped);
}

// The mean of two workers' steps moves the model by itself; by an outer step of momentum further.
TEST(LocalSteps, AnOuterStepMovesTheModelFurther) {
  ClusterOptions options = Of("WBSP", {1, 1});
  options.learning_rate = 0.02;
  options.steps_max = 40;
  const double plainly = Lived(options).versions.back().loss;
  options.policy.parts.outer = OuterStep{.learning_rate = 0.7, .momentum = 0.8};
  const double further = Lived(options).versions.back().loss;
  EXPECT_LT(further, plainly / 2);
}

TEST(LocalSteps, ARateThatIsFarTooLargeDiverges) {
  for (const double rate : {2.5, 1e20}) {
    ClusterOptions options = Of("WBSP", {1, 1, 0.1});
    options.learning_rate = rate;
    EXPECT_EQ(Lived(options).ending, Ending::kDiverged) << rate;
  }
}

}  // namespace
}  // namespace paceline::simulator
