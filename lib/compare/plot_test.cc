#include "lib/compare/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::compare {
namespace {

using ::testing::HasSubstr;

size_t Count(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

ArmRun RunOf(const std::string& arm, size_t commits) {
  ArmRun run{.scheme = arm};
  for (size_t i = 1; i <= commits; ++i)
    run.series.commits.push_back({static_cast<double>(i), 4, 1.0 / static_cast<double>(i)});
  run.series.batches = {{0, 0, 16}, {0, 1, 16}, {1, 1, 8}};
  return run;
}

TEST(Plot, HasALineARunForLossAndKAndOneAWorkerForBatches) {
  const std::string svg = PlotSvg({RunOf("bsp", 4), RunOf("bsp", 4), RunOf("asp", 3)}, "a < b");
  EXPECT_EQ(svg.find("<svg"), 0);
  EXPECT_THAT(svg, HasSubstr("</svg>\n"));
  EXPECT_EQ(Count(svg, "<polyline"), 3 * (1 + 1 + 2));
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr(">loss</text>"));
  EXPECT_THAT(svg, HasSubstr(">batch size</text>"));
  EXPECT_EQ(Count(svg, ">bsp</text>"), 1);
  EXPECT_EQ(Count(svg, ">asp</text>"), 1);
}

TEST(Plot, PutsTheFirstCommitWhereItBelongs) {
  // One commit at 1 s of 1 s with loss 1 of 1: the upper right corner of the first panel.
  const std::string svg = PlotSvg({RunOf("bsp", 1)}, "");
  EXPECT_THAT(svg, HasSubstr("<polyline points=\"880.0,50.0\""));
}

TEST(Plot, HasNoPanelForBatchesThatAreNotKnown) {
  ArmRun run = RunOf("bsp", 4);
  run.series.batches.clear();
  const std::string svg = PlotSvg({run}, "");
  EXPECT_EQ(Count(svg, "<polyline"), 2);
  EXPECT_THAT(svg, testing::Not(HasSubstr(">batch size</text>")));
}

TEST(Plot, StaysSmall) { EXPECT_LT(PlotSvg({RunOf("bsp", 100000)}, "").size(), 20000); }

TEST(Plot, OfNothingIsAnEmptyFrame) {
  const std::string svg = PlotSvg({}, "nothing");
  EXPECT_EQ(Count(svg, "<polyline"), 0);
  EXPECT_THAT(svg, HasSubstr("</svg>"));
}

}  // namespace
}  // namespace paceline::compare
