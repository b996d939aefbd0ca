#include "cli/commands/fetch/ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/kube/core/api_error.h"

namespace paceline::commands {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Status Answer(int code, const std::string& kind = "", const std::string& message = "no") {
  return kube::ToStatus({.code = code, .reason = "Reason", .message = message, .kind = kind});
}

TEST(MayAnotherWayHelp, WhereTheWayFailedAndNotWhereTheCoordinatorOrTheApiServerHasAnswered) {
  EXPECT_FALSE(MayAnotherWayHelp(OkStatus()));
  for (const Status& error :
       {Unavailable("refused"), DeadlineExceeded("late"), Answer(403), Answer(403, "pods"),
        Answer(404), Answer(405), Answer(500), Answer(501), Answer(502), Answer(503), Answer(504)})
    EXPECT_TRUE(MayAnotherWayHelp(error)) << error;
  for (const Status& error :
       {Answer(400), Answer(401), Answer(404, "pods"), Answer(409), Answer(416), Answer(429)})
    EXPECT_FALSE(MayAnotherWayHelp(error)) << error;
}

class WaysTest : public ::testing::Test {
 protected:
  Ways Make(size_t count) {
    std::vector<Way> ways;
    for (size_t i = 0; i < count; ++i) {
      ways.push_back({"by " + std::string(1, static_cast<char>('a' + i)),
                      [this, i](const kube::Request&) -> StatusOr<std::string> {
                        tried_.push_back(i);
                        if (!answers_[i].ok()) return answers_[i];
                        return std::string("model");
                      }});
    }
    return {std::move(ways), [this](const std::string& text) { said_.push_back(text); }};
  }

  std::vector<Status> answers_{2};
  std::vector<size_t> tried_;
  std::vector<std::string> said_;
};

TEST_F(WaysTest, TheFirstThatAnswersStays) {
  Ways ways = Make(2);
  answers_[0] = Answer(503, "", "dial tcp: timeout");
  EXPECT_EQ(ways.Send({}).value(), "model");
  answers_[0] = OkStatus();
  EXPECT_TRUE(ways.Send({}).ok());
  EXPECT_THAT(tried_, ElementsAre(0, 1, 1));
  EXPECT_THAT(said_, ElementsAre("nothing comes by a: Reason: dial tcp: timeout", "it goes by b"));
}

TEST_F(WaysTest, WhereItFailsTheOthersAreTriedAgain) {
  Ways ways = Make(2);
  EXPECT_TRUE(ways.Send({}).ok());
  answers_[0] = Unavailable("reset");
  EXPECT_TRUE(ways.Send({}).ok());
  answers_ = {OkStatus(), Unavailable("gone")};
  EXPECT_TRUE(ways.Send({}).ok());
  EXPECT_THAT(tried_, ElementsAre(0, 0, 1, 1, 0));
  EXPECT_THAT(said_, ElementsAre("it goes by a", "nothing comes by a: reset", "it goes by b",
                                 "nothing comes by b: gone", "it goes by a"));
}

TEST_F(WaysTest, ARefusalOfTheCoordinatorIsAnAnswer) {
  Ways ways = Make(2);
  answers_[0] = Answer(409, "", "another digest");
  EXPECT_EQ(ways.Send({}).status().code(), StatusCode::kAborted);
  EXPECT_THAT(tried_, ElementsAre(0));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(WaysTest, WhereNoneWorksEachIsToldAndTheCodeSaysWhetherToTryAgain) {
  Ways ways = Make(2);
  answers_ = {Unavailable("reset"), PermissionDenied("forbidden")};
  const Status may_pass = ways.Send({}).status();
  EXPECT_EQ(may_pass.code(), StatusCode::kUnavailable);
  EXPECT_EQ(Message(may_pass),
            "allow one of these ways, or name another with --url: by a: reset; by b: forbidden");
  answers_ = {Answer(403, "pods"), NotFound("no kubectl")};
  EXPECT_EQ(ways.Send({}).status().code(), StatusCode::kNotFound);
}

TEST_F(WaysTest, ThatOneIsTriedAgainIsSaidOnce) {
  Ways ways = Make(1);
  answers_ = {Unavailable("reset")};
  EXPECT_EQ(Message(ways.Send({}).status()), "by a: reset");
  EXPECT_FALSE(ways.Send({}).ok());
  EXPECT_THAT(said_, ElementsAre("nothing comes by a: reset"));
}

}  // namespace
}  // namespace paceline::commands
