#include "simulator/model/computing.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

double StepAt(Computing& computing, double at_seconds, uint32_t samples = 10) {
  return ToSeconds(computing.Step(Time(Seconds(at_seconds)), samples));
}

TEST(Computing, TakesItsFixedPartAndTheSamples) {
  Computing computing({.fixed_seconds = 0.5, .per_sample_seconds = 0.1, .speed = 2}, 1, 0);
  EXPECT_DOUBLE_EQ(StepAt(computing, 0, 10), 0.75);
  EXPECT_DOUBLE_EQ(StepAt(computing, 0, 30), 1.75);
}

TEST(Computing, IsNoFasterWithFewerSamplesThanADeviceHasPlaceFor) {
  Computing computing({.per_sample_seconds = 0.1, .least_samples = 8}, 1, 0);
  EXPECT_DOUBLE_EQ(StepAt(computing, 0, 1), 0.8);
  EXPECT_DOUBLE_EQ(StepAt(computing, 0, 16), 1.6);
}

TEST(Computing, ChangesAtItsTimes) {
  Computing computing({.per_sample_seconds = 0.1, .changes = {{10, 3}, {20, 0.5}}}, 1, 0);
  EXPECT_DOUBLE_EQ(StepAt(computing, 9.9), 1);
  EXPECT_DOUBLE_EQ(StepAt(computing, 10), 3);
  EXPECT_DOUBLE_EQ(StepAt(computing, 20), 0.5);
}

TEST(Computing, AChangeMayBringAJitterOfItsOwn) {
  const ComputeModel model{.per_sample_seconds = 0.1,
                           .speed = 2,
                           .jitter = Constant{3},
                           .changes = {{10, 4, Constant{1}}, {20, 2}, {30, 1, Exponential{1}}}};
  Computing computing(model, 1, 0);
  EXPECT_DOUBLE_EQ(StepAt(computing, 9.9), 1.5);
  EXPECT_DOUBLE_EQ(StepAt(computing, 10), 2);
  EXPECT_DOUBLE_EQ(StepAt(computing, 20), 3);  // Without one it is the model's again.
  double sum = 0, square = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double seconds = StepAt(computing, 30);
    sum += seconds / 20'000;
    square += seconds * seconds / 20'000;
  }
  EXPECT_NEAR(sum, 0.5, 0.02);
  EXPECT_NEAR(square - sum * sum, 0.25, 0.03);
}

// What one cause draws is not moved by another: arms and settings meet the same delays.
TEST(Computing, EachCauseHasChancesOfItsOwn) {
  const ComputeModel plain{.jitter = Exponential{1}};
  ComputeModel with_more = plain;
  with_more.slow_phases = SlowPhases{.factor = 1};
  with_more.spike_probability = 0.3;
  with_more.spike_factor = 1;
  Computing one(plain, 5, 2), other(with_more, 5, 2), another_worker(plain, 5, 3),
      another_seed(plain, 6, 2);
  int same = 0;
  for (int i = 0; i < 100; ++i) {
    const double expected = StepAt(one, i);
    EXPECT_DOUBLE_EQ(StepAt(other, i), expected);
    same += StepAt(another_worker, i) == expected;
    same += StepAt(another_seed, i) == expected;
  }
  EXPECT_EQ(same, 0);
}

TEST(Computing, SpikesComeAsOftenAsIsSaid) {
  Computing computing({.per_sample_seconds = 0.1, .spike_probability = 0.02, .spike_factor = 10}, 1,
                      0);
  int spikes = 0;
  for (int i = 0; i < 20'000; ++i) spikes += StepAt(computing, i) > 5;
  EXPECT_NEAR(spikes, 400, 60);
}

TEST(Computing, TellsWhatShareOfTheProcessorTheNextStepMeets) {
  const ComputeModel model{.per_sample_seconds = 0.1, .slow_phases = SlowPhases{4, 6, 2}};
  Computing told(model, 1, 0), untold(model, 1, 0), calm({.per_sample_seconds = 0.1}, 1, 0);
  int slow = 0;
  for (int i = 0; i < 400; ++i) {
    const double share = told.CpuShare(Time(Seconds(i))).value();
    EXPECT_DOUBLE_EQ(StepAt(told, i), 1 / share);
    EXPECT_DOUBLE_EQ(StepAt(untold, i), 1 / share);  // To tell it changes nothing.
    EXPECT_FALSE(calm.CpuShare(Time(Seconds(i))));
    slow += share < 1;
  }
  EXPECT_NEAR(slow, 100, 40);
}

TEST(Computing, IsSlowForTheShareOfTimeThatIsSaid) {
  Computing computing({.per_sample_seconds = 0.1, .slow_phases = SlowPhases{4, 60, 20}}, 1, 0);
  EXPECT_DOUBLE_EQ(StepAt(computing, 0), 1);  // The first one is fast.
  int slow = 0, changes = 0;
  bool was_slow = false;
  for (int i = 0; i < 200'000; ++i) {
    const bool is_slow = StepAt(computing, i) > 2;
    changes += is_slow != was_slow;
    slow += is_slow;
    was_slow = is_slow;
  }
  EXPECT_NEAR(slow, 50'000, 4'000);
  EXPECT_NEAR(changes, 2 * 200'000 / 80, 300);
}

}  // namespace
}  // namespace paceline::simulator
