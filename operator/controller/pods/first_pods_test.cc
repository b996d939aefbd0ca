#include "operator/controller/pods/first_pods.h"

#include <gtest/gtest.h>

namespace paceline::controller {
namespace {

using std::chrono::milliseconds;

const Time kMade = Time(std::chrono::hours(1));

TEST(FirstPodsTest, GoBeforeAStatusAsLongAsSomeAreBeingMade) {
  FirstPods first_pods;
  EXPECT_FALSE(first_pods.GoBefore(kMade, kMade));
  {
    const FirstPods::Making one(&first_pods);
    {
      const FirstPods::Making other(&first_pods);
      EXPECT_TRUE(first_pods.GoBefore(kMade, kMade));
    }
    EXPECT_TRUE(first_pods.GoBefore(kMade, kMade));
  }
  EXPECT_FALSE(first_pods.GoBefore(kMade, kMade));
}

TEST(FirstPodsTest, NoStatusWaitsForEver) {
  FirstPods first_pods;
  const FirstPods::Making making(&first_pods);
  EXPECT_TRUE(first_pods.GoBefore(kMade, kMade + FirstPods::kPatience - milliseconds(1)));
  EXPECT_FALSE(first_pods.GoBefore(kMade, kMade + FirstPods::kPatience));
}

}  // namespace
}  // namespace paceline::controller
