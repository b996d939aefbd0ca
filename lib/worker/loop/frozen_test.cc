// Tensors that a worker's program has by itself: whoever it joins is to compare them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/worker/loop/loop_testing.h"

namespace paceline::worker {
namespace {

using namespace loop_testing;  // NOLINT: its fakes are this test's language.

TEST(LoopFrozenTest, TellsEachSessionWhatItHas) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 7)},
                      {Admit(2), protocol::Shards{}, protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  ASSERT_EQ(Sent<protocol::Join>(f.world).size(), 2u);
  for (const protocol::Join& join : Sent<protocol::Join>(f.world))
    EXPECT_THAT(join.frozen,
                ::testing::ElementsAre(protocol::FrozenTensor{"base", "bfloat16 [2]", "1f"}));
}

TEST(LoopFrozenTest, DoesNotTrainWithACoordinatorThatComparesNothing) {
  Fixture f;
  protocol::Admitted older = Admit(1);
  older.compares_frozen = false;
  f.world.sessions = {{older, protocol::Shards{}, Release(0, 7)}};
  const StatusOr<std::string> end = f.loop.Run();
  EXPECT_EQ(end.status().code(), StatusCode::kPermissionDenied);
  EXPECT_NE(Message(end.status()).find("do not compare frozen parameters"), std::string::npos);
  EXPECT_TRUE(Sent<protocol::PushDone>(f.world).empty());
}

}  // namespace
}  // namespace paceline::worker
