#include "operator/controller/pods/refused_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RefusedPodsTest : public ::testing::Test {
 protected:
  // A plan that starts these and stops "old".
  std::vector<std::string> Asked(const std::vector<std::string>& names) {
    std::vector<job::Action> actions;
    for (const std::string& name : names) actions.push_back(job::Start{.name = name});
    actions.push_back(job::Stop{.name = "old"});
    std::vector<std::string> asked;
    for (const job::Action& action : pods_.Due(std::move(actions), now_)) {
      if (const auto* start = std::get_if<job::Start>(&action)) asked.push_back(start->name);
      has_stop_ = std::holds_alternative<job::Stop>(action);
    }
    return asked;
  }

  void Refuse(const std::vector<std::string>& names, Duration at_least = Duration::zero()) {
    for (const std::string& name : names) pods_.Refused(name);
    pods_.Pause(now_, at_least);
  }

  RefusedPods pods_;
  Time now_{Seconds(100)};
  bool has_stop_ = false;
};

TEST_F(RefusedPodsTest, AllAreAskedForUntilSomeAreRefused) {
  EXPECT_THAT(Asked({"a", "b"}), ElementsAre("a", "b"));
  EXPECT_FALSE(pods_.due());
  Refuse({"a", "b"});
  EXPECT_THAT(Asked({"a", "b", "c"}), ElementsAre("c")) << "others do not wait for these";
  EXPECT_TRUE(has_stop_);
  EXPECT_EQ(pods_.due(), now_ + RefusedPods::kPauseMin);
}

TEST_F(RefusedPodsTest, OneOfThemIsAskedForLaterAndLater) {
  (void)Asked({"a", "b"});
  Refuse({"a", "b"});
  Duration pause = RefusedPods::kPauseMin;
  for (int round = 0; round < 20; ++round) {
    now_ = *pods_.due() - Seconds(0.01);
    EXPECT_THAT(Asked({"a", "b"}), IsEmpty());
    now_ = *pods_.due();
    EXPECT_THAT(Asked({"a", "b"}), ElementsAre("a"));
    EXPECT_THAT(Asked({"a", "b"}), ElementsAre("a")) << "asking again changes nothing";
    Refuse({"a"});
    pause = std::min(2 * pause, RefusedPods::kPauseMax);
    EXPECT_EQ(*pods_.due() - now_, pause);
  }
}

TEST_F(RefusedPodsTest, OnceThatOneIsMadeTheOthersAreAskedForAtOnce) {
  (void)Asked({"a", "b", "c"});
  Refuse({"a", "b", "c"});
  now_ = *pods_.due();
  ASSERT_THAT(Asked({"a", "b", "c"}), ElementsAre("a"));
  pods_.Made("a", now_);
  pods_.Settle();
  EXPECT_EQ(pods_.due(), now_);
  EXPECT_THAT(Asked({"b", "c"}), ElementsAre("b", "c"));
  EXPECT_FALSE(pods_.due()) << "nothing waits any more";
  Refuse({"c"});
  EXPECT_EQ(*pods_.due() - now_, RefusedPods::kPauseMin) << "it begins anew";
}

TEST_F(RefusedPodsTest, OthersThatAreMadeSayNothingOfThem) {
  (void)Asked({"a"});
  Refuse({"a"});
  EXPECT_THAT(Asked({"a", "b"}), ElementsAre("b"));
  pods_.Made("b", now_);
  EXPECT_THAT(Asked({"a"}), IsEmpty());
  EXPECT_FALSE(pods_.empty());
}

TEST_F(RefusedPodsTest, WhatIsWantedNoMoreIsForgotten) {
  (void)Asked({"a", "b"});
  Refuse({"a", "b"});
  EXPECT_THAT(Asked({"b"}), IsEmpty());
  EXPECT_THAT(Asked({"a", "b"}), ElementsAre("a")) << "it is wanted anew";
  EXPECT_THAT(Asked({}), IsEmpty());
  EXPECT_TRUE(pods_.empty());
}

TEST_F(RefusedPodsTest, TheApiServersOwnPauseCounts) {
  (void)Asked({"a"});
  Refuse({"a"}, Seconds(30));
  EXPECT_EQ(*pods_.due() - now_, Seconds(30));
}

}  // namespace
}  // namespace paceline::controller
