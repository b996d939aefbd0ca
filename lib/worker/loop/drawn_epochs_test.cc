#include "lib/worker/loop/drawn_epochs.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "lib/worker/loop/loop_testing.h"

namespace paceline::worker {
namespace {

using namespace loop_testing;  // NOLINT: its fakes are this test's language.

// The coordinator may be another one by then.
TEST(DrawnEpochsTest, TellsEachSessionWhatTheSamplerHasDrawn) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 7)},
                      {Admit(2), protocol::Shards{}, Release(0, 8), protocol::Finish{"done"}}};
  const protocol::Drawn zero{0, 100, 7}, one{1, 100, 8};
  f.drawn.Note(zero);
  f.drawn.Note(one);
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(Sent<protocol::Drawn>(f.world), (std::vector<protocol::Drawn>{zero, one, zero, one}));
  ASSERT_EQ(Sent<protocol::Join>(f.world).size(), 2u);
  EXPECT_EQ(Sent<protocol::Join>(f.world)[1].sampler, "WeightedRandomSampler");
  for (const size_t at : {1, 2})
    EXPECT_TRUE(std::holds_alternative<protocol::Drawn>(f.world.sent[at])) << "before its steps";
}

TEST(DrawnEpochsTest, TakesNoSamplesOfASamplerFromACoordinatorThatKnowsNone) {
  Fixture f;
  protocol::Admitted older = Admit(1);
  older.compares_draws = false;
  f.world.sessions = {{older, protocol::Shards{}, Release(0, 7)}};
  const StatusOr<std::string> end = f.loop.Run();
  EXPECT_EQ(end.status().code(), StatusCode::kPermissionDenied);
  EXPECT_NE(Message(end.status()).find("alike from WeightedRandomSampler"), std::string::npos);
  EXPECT_TRUE(Sent<protocol::PushDone>(f.world).empty());
}

TEST(DrawnEpochsTest, TellsTheSessionThereIsWhatIsDrawnMeanwhile) {
  World world;
  world.sessions.emplace_back();
  DrawnEpochs drawn("WeightedRandomSampler");
  drawn.Note({0, 100, 7});
  EXPECT_TRUE(Sent<protocol::Drawn>(world).empty());
  const auto session = std::make_shared<ScriptedSession>(&world, world.sessions.front());
  drawn.TellTo(session);
  drawn.Note({1, 100, 8});
  ASSERT_EQ(Sent<protocol::Drawn>(world).size(), 2u);
  EXPECT_EQ(Sent<protocol::Drawn>(world)[1].epoch, 1u);
}

}  // namespace
}  // namespace paceline::worker
