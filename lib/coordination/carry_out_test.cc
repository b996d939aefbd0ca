#include "lib/coordination/carry_out.h"

#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::coordination {
namespace {

TEST(CarryOut, WhatIsDecidedComesBehindWhatWasWantedBefore) {
  std::vector<Effect> effects = {EpochCompleted{1}, Observe{sync::DeadlineReached{}},
                                 EpochCompleted{2}, EpochCompleted{3}};
  std::vector<uint64_t> carried;
  CarryOut(effects, [&](const Effect& effect) {
    if (const auto* completed = std::get_if<EpochCompleted>(&effect)) {
      carried.push_back(completed->epoch);
    } else {
      for (uint64_t epoch = 4; epoch < 100; ++epoch) effects.push_back(EpochCompleted{epoch});
    }
  });
  ASSERT_EQ(carried.size(), 99u);
  for (uint64_t i = 0; i < carried.size(); ++i) EXPECT_EQ(carried[i], i + 1);
  EXPECT_TRUE(effects.empty());
}

}  // namespace
}  // namespace paceline::coordination
