#include "simulator/model/own_deltas.h"

#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

TEST(OwnDeltas, HoldWhatAVersionLacks) {
  OwnDeltas own;
  own.Add(Sequence(1), {1, 10});
  own.Add(Sequence(2), {});  // Rejected: nothing of it.
  own.Add(Sequence(3), {2, 20});
  Values values = {0.5, 0.5};
  own.AddTo(values);
  EXPECT_EQ(values, (Values{3.5, 30.5}));
  own.Answered({});
  EXPECT_EQ(own.size(), 3u);
  own.Answered(Sequence(2));
  EXPECT_EQ(own.size(), 1u);
  values = {0, 0};
  own.AddTo(values);
  EXPECT_EQ(values, (Values{2, 20}));
  own.Answered(Sequence(3));
  EXPECT_EQ(own.size(), 0u);
}

}  // namespace
}  // namespace paceline::simulator
