// Steps that loss scaling gives up.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/worker/loop/loop_testing.h"

namespace paceline::worker {
namespace {

using loop_testing::Admit;
using loop_testing::Fixture;
using loop_testing::Release;
using loop_testing::Sent;

// Of what was handed over by then nothing is sealed, and nobody is to blame.
TEST(Loop, AbandonsAStepWhoseGradientsOverflow) {
  Fixture f;
  f.world.takes_pieces = true;
  f.world.loss_scale = 1024;
  f.world.handed_statuses = {Aborted("gradients overflow"), OkStatus()};
  f.world.sessions = {
      {Admit(1), protocol::Shards{}, Release(0, 5), Release(0, 6), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls,
            (std::vector<std::string>{"pull v0", "begin w2 i1 #1", "put 8+8", "put 0+8",
                                      "drop w2 i1 #1", "pull v0", "begin w2 i1 #2", "put 8+8",
                                      "put 0+8", "seal w2 i1 #2"}));
  const auto abandoned = Sent<protocol::Abandoned>(f.world);
  ASSERT_EQ(abandoned.size(), 1u);
  EXPECT_EQ(abandoned[0].reason, sync::AbandonReason::kOverflow);
  EXPECT_EQ(abandoned[0].sequence, Sequence(1));
  EXPECT_EQ(abandoned[0].leases, std::vector{protocol::LeaseId(5)});
  EXPECT_EQ(abandoned[0].loss_scale, 1024);
  const auto pushes = Sent<protocol::PushDone>(f.world);
  ASSERT_EQ(pushes.size(), 1u);
  EXPECT_EQ(pushes[0].loss_scale, 1024);
}

}  // namespace
}  // namespace paceline::worker
