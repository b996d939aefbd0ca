#include "simulator/report/report.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

Row RowThat(const std::string& arm, uint64_t seed, double seconds,
            Ending ending = Ending::kTarget) {
  return {.arm = arm,
          .seed = seed,
          .ending = ending,
          .seconds = seconds,
          .steps = 10,
          .step_seconds = seconds / 10,
          .loss = 0.5,
          .pushes_a_step = 3,
          .dropped = 2,
          .interrupted = 1,
          .computing = 0.5,
          .wasted = 0.25};
}

// The line of that arm.
std::string LineOf(const std::string& table, const std::string& arm) {
  const size_t begin = table.find("\n" + arm + " ") + 1;
  return table.substr(begin, table.find('\n', begin) - begin);
}

TEST(Report, ArmsStandBesideTheFirstSeedBySeed) {
  const std::string table =
      TableText({RowThat("bsp", 1, 100), RowThat("bsp", 2, 30), RowThat("bsp", 3, 20),
                 RowThat("asp", 1, 50), RowThat("asp", 2, 10), RowThat("asp", 3, 20)});
  EXPECT_NE(LineOf(table, "bsp").find("30 "), std::string::npos);
  EXPECT_NE(LineOf(table, "bsp").find("(20, 100)"), std::string::npos);
  EXPECT_TRUE(LineOf(table, "bsp").ends_with(" 1.00")) << table;
  EXPECT_TRUE(LineOf(table, "asp").ends_with(" 2.00")) << table;  // Of 2, 3 and 1.
  EXPECT_NE(LineOf(table, "asp").find("50%"), std::string::npos);
  EXPECT_NE(LineOf(table, "asp").find("25%"), std::string::npos);
}

TEST(Report, WhatDidNotReachItsEndIsNotCompared) {
  const std::string table =
      TableText({RowThat("bsp", 1, 100), RowThat("bsp", 2, 100), RowThat("asp", 1, 1),
                 RowThat("asp", 2, 1, Ending::kDiverged)});
  EXPECT_TRUE(LineOf(table, "asp").ends_with("1 of 2 ended otherwise")) << table;
  const std::string one =
      TableText({RowThat("bsp", 1, 100), RowThat("asp", 1, 1, Ending::kDiverged)});
  EXPECT_TRUE(LineOf(one, "asp").ends_with("1 of 1 diverged")) << one;
}

TEST(Report, ProgramsGetEveryLife) {
  Row ill = RowThat("a \"b\", c", 2, 7, Ending::kDiverged);
  ill.loss = std::nan("");
  EXPECT_EQ(
      RowsJson({RowThat("bsp", 1, 100), ill}),
      R"([{"arm":"bsp","seed":1,"ending":"target","seconds":100.0,"steps":10,"step_seconds":10.0,"loss":0.5,)"
      R"("pushes_a_step":3.0,"dropped":2,"interrupted":1,"computing":0.5,"wasted":0.25},)"
      R"({"arm":"a \"b\", c","seed":2,"ending":"diverged","seconds":7.0,"steps":10,"step_seconds":0.7,"loss":null,)"
      R"("pushes_a_step":3.0,"dropped":2,"interrupted":1,"computing":0.5,"wasted":0.25}])"
      "\n");
  EXPECT_EQ(RowsCsv({ill}),
            "arm,seed,ending,seconds,steps,step_seconds,loss,pushes_a_step,dropped,interrupted,"
            "computing,wasted\n"
            "\"a \"\"b\"\", c\",2,diverged,7,10,0.7,nan,3,2,1,0.5,0.25\n");
}

TEST(Report, ALifeInFigures) {
  const Life life{.ending = Ending::kSteps,
                  .seconds = 20,
                  .versions = {{5, 1, 2}, {16, 0.25, 4}},
                  .dropped = 3,
                  .compute_seconds = 30,
                  .wasted_seconds = 3};
  const Row row = RowOf("x", 7, 4, life);
  EXPECT_EQ(row.steps, 2u);
  EXPECT_DOUBLE_EQ(row.step_seconds, 8);
  EXPECT_DOUBLE_EQ(row.loss, 0.25);
  EXPECT_DOUBLE_EQ(row.pushes_a_step, 3);
  EXPECT_DOUBLE_EQ(row.computing, 30.0 / 80);
  EXPECT_DOUBLE_EQ(row.wasted, 0.1);
}

}  // namespace
}  // namespace paceline::simulator
