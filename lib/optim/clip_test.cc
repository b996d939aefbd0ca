#include "lib/optim/clip.h"

#include <limits>

#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

TEST(ClipScaleTest, FollowsPyTorchsFormula) {
  const double infinity = std::numeric_limits<double>::infinity();
  const struct {
    const char* name;
    double squared_norm, max_norm, want;
  } cases[] = {
      {"far below the limit", 1, 5, 1},
      {"at the limit", 25, 5, 5 / (5 + 1e-6)},
      {"above the limit", 100, 5, 5 / (10 + 1e-6)},
      {"no gradient", 0, 1, 1},
      {"infinite norm", infinity, 1, 1},
      {"not a number", std::numeric_limits<double>::quiet_NaN(), 1, 1},
  };
  for (const auto& test : cases) {
    EXPECT_DOUBLE_EQ(ClipScale(test.squared_norm, test.max_norm), test.want) << test.name;
  }
}

}  // namespace
}  // namespace paceline::optim
