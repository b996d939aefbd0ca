#include "tests/soak/recount.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::soak {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Push(const std::string& generation, int worker, int incarnation, int sequence,
                 int samples, const std::string& ranges) {
  return fmt::format(
      "push start={} counter={} worker={} incarnation={} sequence={} based_on=0 samples={} "
      "ranges={}\n",
      generation[0], generation[2], worker, incarnation, sequence, samples, ranges);
}
std::string Commit(const std::string& generation, int version, const std::string& pushes,
                   bool is_published = true) {
  std::string text = fmt::format("commit start={} counter={} version={} pushes={}\n", generation[0],
                                 generation[2], version, pushes);
  if (is_published) {
    text += fmt::format("published start={} counter={} version={}\n", generation[0], generation[2],
                        version);
  }
  return text;
}
std::string Configured(const std::string& generation, int version = 0,
                       const std::string& from = "-") {
  return fmt::format("configured start={} counter={} version={} from={}\n", generation[0],
                     generation[2], version, from);
}
std::string Checkpoint(const std::string& generation, int version, const std::string& name) {
  return fmt::format("checkpoint start={} counter={} version={} name={}\n", generation[0],
                     generation[2], version, name);
}

// Of an epoch of ten samples by two workers.
const std::string kFirst = Push("1.0", 0, 1, 1, 5, "0:0-5");
const std::string kSecond = Push("1.0", 1, 1, 1, 5, "0:5-7,0:7-10");

TEST(Recount, EverySampleOnce) {
  const Recount recount =
      CountAgain(Configured("1.0") + Commit("1.0", 1, "0:1:1,1:1:1"), {kFirst, kSecond});
  EXPECT_THAT(Judge(recount, 1, 10, {}), IsEmpty());
  EXPECT_EQ(recount.samples, 10u);
  EXPECT_EQ(recount.versions, 1u);
  EXPECT_EQ(recount.roll_backs, 0u);
}

TEST(Recount, ADroppedPushDoesNotCount) {
  const Recount recount =
      CountAgain(Configured("1.0") + Commit("1.0", 1, "0:1:1"), {kFirst, kSecond});
  EXPECT_THAT(Judge(recount, 1, 10, {}), Contains(HasSubstr("epoch 0: 5 samples count")));
  EXPECT_THAT(Judge(recount, 1, 10, {{0, 5}}), IsEmpty()) << "if it was reported as left out";
}

TEST(Recount, ASampleThatCountsTwiceIsFound) {
  const Recount recount =
      CountAgain(Configured("1.0") + Commit("1.0", 1, "0:1:1,1:1:1") + Commit("1.0", 2, "0:1:2"),
                 {kFirst + Push("1.0", 0, 1, 2, 1, "0:9-10"), kSecond});
  EXPECT_THAT(Judge(recount, 1, 10, {}), Contains(HasSubstr("1 samples count twice")));
  EXPECT_EQ(recount.samples, 11u);
}

TEST(Recount, AVersionThatWasNotPublishedDoesNotCount) {
  const Recount recount =
      CountAgain(Configured("1.0") + Commit("1.0", 1, "0:1:1") + Commit("1.0", 2, "1:1:1", false),
                 {kFirst, kSecond});
  EXPECT_THAT(Judge(recount, 1, 10, {}), Contains(HasSubstr("epoch 0: 5 samples count")));
}

TEST(Recount, WhatARollBackMadeVoidDoesNotCount) {
  const std::string again = Push("1.1", 0, 2, 1, 10, "0:0-10");
  const Recount recount =
      CountAgain(Configured("1.0") + Commit("1.0", 1, "0:1:1") + Commit("1.0", 2, "1:1:1") +
                     Configured("1.1") + Commit("1.1", 1, "0:2:1"),
                 {kFirst + again, kSecond});
  EXPECT_THAT(Judge(recount, 1, 10, {}), IsEmpty());
  EXPECT_EQ(recount.roll_backs, 1u);
  EXPECT_EQ(recount.steps_lost, 2u);
}

TEST(Recount, ACheckpointsHistoryStaysAlsoOverTwoGenerations) {
  const std::string commits = Configured("1.0") + Commit("1.0", 1, "0:1:1") +
                              Checkpoint("1.0", 1, "one") + Commit("1.0", 2, "1:1:1") +
                              Configured("1.1", 1, "one") + Configured("2.0", 1, "one") +
                              Commit("2.0", 2, "1:1:1") + Checkpoint("2.0", 2, "two") +
                              Configured("3.0", 2, "two") + Commit("3.0", 3, "1:1:1");
  const std::vector<std::string> pushes = {
      kFirst, kSecond + Push("2.0", 1, 1, 1, 3, "0:5-8") + Push("3.0", 1, 1, 1, 2, "0:8-10")};
  const Recount recount = CountAgain(commits, pushes);
  EXPECT_THAT(Judge(recount, 1, 10, {}), IsEmpty());
  EXPECT_EQ(recount.versions, 3u);
  EXPECT_EQ(recount.roll_backs, 3u);
  EXPECT_EQ(recount.steps_lost, 1u);
}

// A checkpoint may be of a version that was ordered when it was cut, and never told as published.
TEST(Recount, ACheckpointsVersionCountsAlsoIfNobodyWasToldOfIt) {
  const Recount recount = CountAgain(Configured("1.0") + Commit("1.0", 1, "0:1:1,1:1:1", false) +
                                         Checkpoint("1.0", 1, "one") + Configured("2.0", 1, "one"),
                                     {kFirst, kSecond});
  EXPECT_THAT(Judge(recount, 1, 10, {}), IsEmpty());
}

TEST(Recount, AccountsThatDisagreeAreProblems) {
  struct Case {
    std::string commits, pushes, words;
  };
  for (const Case& c : {
           Case{Configured("1.0") + Commit("1.0", 1, "0:1:2"), kFirst, "no worker made it"},
           Case{Configured("1.0"), kFirst + kFirst, "was made twice"},
           Case{Configured("1.0"), Push("1.0", 0, 1, 1, 6, "0:0-5"), "has 5 samples and says 6"},
           Case{Commit("1.0", 1, "0:1:1"), kFirst, "never configured"},
           Case{Configured("1.0", 4, "none"), "", "was never written"},
           Case{Configured("1.0") + Checkpoint("1.0", 3, "three") + Configured("2.0", 4, "three"),
                "", "is of version 3 and gone on from at 4"},
           Case{Configured("1.0") + Commit("1.0", 2, "0:1:1"), kFirst,
                "version 1 of generation 1.0 was published and never committed"},
           Case{Configured("1.0") + Commit("1.0", 1, "0:1:1") + Commit("1.0", 1, "0:1:1"), kFirst,
                "committed twice"},
       }) {
    EXPECT_THAT(CountAgain(c.commits, {c.pushes}).problems, Contains(HasSubstr(c.words)));
  }
}

TEST(Recount, EpochsBeyondTheLastAreWrong) {
  const Recount recount = CountAgain(Configured("1.0") + Commit("1.0", 1, "0:1:1"),
                                     {Push("1.0", 0, 1, 1, 11, "0:0-10,1:0-1")});
  EXPECT_THAT(Judge(recount, 1, 10, {}), Contains(HasSubstr("epoch 1 counts")));
}

}  // namespace
}  // namespace paceline::soak
