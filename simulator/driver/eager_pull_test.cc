// Workers that compute while their pushes, answers and pulls travel: the periods and what is missed
// of docs/schemes/ps_plus.md, and what is learnt.
#include <algorithm>

#include <gtest/gtest.h>

#include "simulator/driver/eager_worker.h"
#include "simulator/driver/testing.h"

namespace paceline::simulator {
namespace {

using namespace testing;

constexpr uint32_t kWorkers = 8;

// Equal workers whose step takes a second, and transfers each of so many.
ClusterOptions Equal(const std::string& policy, double transfer_seconds) {
  ClusterOptions options = Of(policy, std::vector<double>(kWorkers, 1.0));
  options.network.latency_seconds = transfer_seconds;
  options.steps_max = 150 * kWorkers;
  return options;
}

double Period(const Life& life) { return kWorkers * MeanStep(life); }

// C = 1, U = D.
TEST(EagerPull, APeriodIsTheLongestOfComputingPushingAndPullingOrHalfTheirSum) {
  for (const double transfer : {0.15, 0.45, 0.75, 1.0, 2.0}) {
    SCOPED_TRACE(transfer);
    EXPECT_NEAR(Period(Lived(Equal("ASP", transfer))), 1 + 2 * transfer, 0.03);
    EXPECT_NEAR(Period(Lived(Equal("PSPlus staleness=unbounded", transfer))),
                std::max({1.0, transfer, 0.5 + transfer}), 0.03);
    EXPECT_NEAR(Period(Lived(Equal("PSPlus staleness=unbounded depth=2", transfer))),
                std::max(1.0, transfer), 0.03);
  }
}

TEST(EagerPull, ABoundKeepsTheFastAtTheStragglersPace) {
  ClusterOptions options = Of("PSPlus staleness=2", {1, 1, 1, 0.25});
  options.network.latency_seconds = 0.1;
  options.steps_max = 400;
  EXPECT_NEAR(MeanStep(Lived(options)), 4.0 / 4, 0.03);
}

TEST(EagerPull, ABarrierWaitsForTheSlowestWhileTransfersTravel) {
  ClusterOptions options = Of("BSP meanwhile=eager-pull reach=1", {1, 1, 1, 0.5});
  options.network.latency_seconds = 0.5;
  const Life life = Lived(options);
  EXPECT_NEAR(MeanStep(life), 2, 0.05);
  EXPECT_EQ(life.versions.back().pushes, 4u);
  EXPECT_EQ(life.dropped, 0u);
}

// Step i computes on all of its own steps before, each once, however long anything travels.
TEST(EagerPull, AloneAWorkerLearnsAsPlainSgdHoweverPushesTravel) {
  for (const double latency : {0.0, 0.2, 0.7, 1.9}) {
    for (const char* policy : {"PSPlus staleness=unbounded", "PSPlus staleness=0",
                               "PSPlus staleness=unbounded depth=2", "PSPlus depth=3"}) {
      SCOPED_TRACE(::testing::Message() << policy << ' ' << latency);
      ClusterOptions options = Of(policy, {1});
      options.workers[0].jitter = ShiftedExponential{0.2, 0.8};
      options.network.latency_seconds = latency;
      options.commit_seconds = latency / 3;
      options.learning_rate = 0.2;
      options.momentum = 0.6;
      options.steps_max = 80;
      const Life life = Lived(options);
      const std::vector<double> alone = LossesAlone(options, options.steps_max);
      ASSERT_EQ(life.versions.size(), alone.size());
      for (size_t i = 0; i < alone.size(); ++i)
        ASSERT_NEAR(life.versions[i].loss, alone[i], 1e-9 * alone[i]) << i;
    }
  }
}

TEST(EagerPull, ModulationShrinksWhatAStragglerPushes) {
  ClusterOptions options = Of("PSPlus staleness=unbounded", {1, 1, 1, 1, 1, 1, 1, 0.25});
  options.steps_max = 400;
  std::vector<std::string> slow;
  options.trace = [&slow](std::string_view line) {
    if (line.find("release w7") != std::string_view::npos) slow.emplace_back(line);
  };
  Lived(options);
  ASSERT_GT(slow.size(), 5u);
  EXPECT_NE(slow.back().find(" lr=0.25 "), std::string::npos) << slow.back();
}

// The scale that came with the last answer is that of the next push.
TEST(EagerPull, AScaleShrinksThePushAlone) {
  const ClusterOptions options = Of("PSPlus", {1});
  const auto pushed = [&options](double scale) {
    World world(options);
    std::vector<protocol::PushDone> done;
    world.say = [&done](uint32_t, protocol::WorkerMessage message) {
      done.push_back(std::get<protocol::PushDone>(std::move(message)));
    };
    EagerWorker worker(world, 0, 0);
    protocol::Released released{.learning_rate = 0.5};
    released.assignment.learning_rate_scale = scale;
    released.lease = {protocol::LeaseId(1), {{0, 0, 10}}};
    worker.Release(released);
    while (done.empty()) {
      const auto [at, happening] = world.queue.Take();
      world.now = at;
      happening.kind == Happening::Kind::kLinkFree ? world.wires.LinkFree(at, happening)
                                                   : worker.Happen(happening);
    }
    return done.front();
  };
  EXPECT_EQ(pushed(1).samples, 10u);
  EXPECT_GT(pushed(1).gradient.squared_norm, 0);
  EXPECT_DOUBLE_EQ(pushed(0.25).gradient.squared_norm, pushed(1).gradient.squared_norm / 16);
}

TEST(EagerPull, ARateThatIsFarTooLargeDiverges) {
  for (const double rate : {2.5, 1e20, 1e200}) {
    ClusterOptions options = Of("PSPlus", {1, 1, 0.1});
    options.learning_rate = rate;
    EXPECT_EQ(Lived(options).ending, Ending::kDiverged) << rate;
  }
}

}  // namespace
}  // namespace paceline::simulator
