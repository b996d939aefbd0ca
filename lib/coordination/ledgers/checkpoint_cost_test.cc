#include "lib/coordination/ledgers/checkpoint_cost.h"

#include <gtest/gtest.h>

namespace paceline::coordination {
namespace {

class CheckpointCostTest : public ::testing::Test {
 protected:
  void Steps(int count, Duration each) {
    for (int i = 0; i < count; ++i) cost_.Published(now_ += each);
  }
  CheckpointCost cost_;
  Time now_{Seconds(100)};
};

TEST_F(CheckpointCostTest, IsWhatTheStepsBesideItTookLonger) {
  Steps(100, Seconds(0.1));
  cost_.Began(now_ + Seconds(0.05));
  Steps(10, Seconds(0.15));
  cost_.Ended(now_);
  EXPECT_EQ(cost_.last(), Duration::zero()) << "not known before the next version";
  Steps(1, Seconds(0.1));
  EXPECT_NEAR(ToSeconds(cost_.last()), 0.5, 1e-6);
  Steps(10, Seconds(0.1));
  EXPECT_NEAR(ToSeconds(cost_.last()), 0.5, 1e-6);
}

TEST_F(CheckpointCostTest, WithinOneStepIsThatStepsDelay) {
  Steps(10, Seconds(2));
  cost_.Began(now_ + Seconds(0.5));
  cost_.Ended(now_ + Seconds(0.75));
  Steps(1, Seconds(2.2));
  EXPECT_NEAR(ToSeconds(cost_.last()), 0.2, 1e-6);
}

TEST_F(CheckpointCostTest, IsNeverLessThanATwentiethOfTheWriting) {
  Steps(10, Seconds(0.1));
  cost_.Began(now_);
  Steps(100, Seconds(0.09));  // Faster by chance.
  cost_.Ended(now_);
  Steps(1, Seconds(0.1));
  EXPECT_NEAR(ToSeconds(cost_.last()), 9.0 / 20, 1e-6);
}

// The one of version 0 is written beside the first step, which may take a hundred times as long as
// any other: were that its cost, the next one would come when a short job is over.
TEST_F(CheckpointCostTest, BeforeAnyStepIsKnownAllOfTheWritingCountsAndNotTheStep) {
  cost_.Began(now_);
  cost_.Ended(now_ + Seconds(0.04));
  Steps(1, Seconds(3));
  EXPECT_NEAR(ToSeconds(cost_.last()), 0.04, 1e-6);
}

TEST_F(CheckpointCostTest, AStandstillIsNoStep) {
  Steps(10, Seconds(0.1));
  cost_.Began(now_);
  cost_.Interrupted();
  now_ += Seconds(100);
  Steps(10, Seconds(0.1));
  EXPECT_EQ(cost_.last(), Duration::zero());
  cost_.Began(now_);
  cost_.Ended(now_);
  Steps(1, Seconds(0.3));
  EXPECT_NEAR(ToSeconds(cost_.last()), 0.2, 1e-6);
}

}  // namespace
}  // namespace paceline::coordination
