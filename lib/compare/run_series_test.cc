#include "lib/compare/run_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTrace[] = R"(# A comment.
policy BackupWorkers backups=1 batch=16 workers=2
@9 join w0
@10 join w1
  release w0 at v0 exact samples=8
  release w1 at v0 exact samples=8
@10.5 push w0 #1 based-on=v0 samples=8 loss=2 compute=0.25 wait=0.125 communication=0.125 injected=0.125
  accumulate w0 #1 weight=8
  commit scale=0.125
@10.625 committed v1 rate=0.1
  release w0 at v1 exact samples=12
@11 push w1 #1 based-on=v0 samples=8 loss=4 compute=0.5
  drop w1 #1 superseded
  release w1 at v1 exact samples=4
@11.25 push w0 #2 based-on=v1 samples=12 loss=1 compute=0.25
  accumulate w0 #2 weight=12
@11.5 push w1 #2 based-on=v1 samples=4 loss=3 compute=0.25
  accumulate w1 #2 weight=4
  commit scale=0.0625
@11.75 committed v2 rate=0.1
@12 push w0 #3 based-on=)";

TEST(RunSeries, TellsOfCommitsAndTheirLosses) {
  const StatusOr<RunSeries> series = ReadSeries(kTrace);
  ASSERT_TRUE(series.ok()) << series.status();
  ASSERT_EQ(series->commits.size(), 2);
  EXPECT_EQ(series->commits[0].seconds, 0.5);
  EXPECT_EQ(series->commits[0].pushes, 1);
  EXPECT_EQ(series->commits[0].loss, 2);
  EXPECT_EQ(series->commits[1].seconds, 1.5);
  EXPECT_EQ(series->commits[1].pushes, 2);
  EXPECT_EQ(series->commits[1].loss, (12 * 1 + 4 * 3) / 16.0);
  EXPECT_EQ(series->published_at, (std::map<uint64_t, double>{{1, 0.625}, {2, 1.75}}));
}

TEST(RunSeries, TellsOfBatchesWhereTheyChange) {
  const StatusOr<RunSeries> series = ReadSeries(kTrace);
  ASSERT_TRUE(series.ok()) << series.status();
  std::vector<uint32_t> samples;
  for (const BatchPoint& batch : series->batches) samples.push_back(batch.samples);
  EXPECT_THAT(samples, ElementsAre(8, 8, 12, 4));
  EXPECT_EQ(series->batches[3].worker, 1);
  EXPECT_EQ(series->batches[3].seconds, 1);
}

TEST(RunSeries, SumsUpWhereTheTimeWent) {
  const StatusOr<RunSeries> series = ReadSeries(kTrace);
  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_EQ(series->compute, 1.25);
  EXPECT_EQ(series->injected, 0.125);
  EXPECT_EQ(series->wait, 0.125);
  EXPECT_EQ(series->communication, 0.125);
  EXPECT_EQ(series->samples_pushed, 32);
  EXPECT_EQ(series->samples_dropped, 8);
  EXPECT_THAT(series->step_seconds, ElementsAre(0.75, 0.5));
}

TEST(RunSeries, DividesAPushAmongItsLocalSteps) {
  const StatusOr<RunSeries> series = ReadSeries(
      "policy ASP batch=16 workers=1\n"
      "@0 join w0\n"
      "@1 push w0 #1 based-on=v0 samples=8\n"
      "@3 push w0 #2 based-on=v0 steps=4 samples=32\n");
  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_THAT(series->step_seconds, ElementsAre(0.5));
}

TEST(RunSeries, NamesTheLineThatIsWrong) {
  EXPECT_THAT(Message(ReadSeries("policy ASP batch=1 workers=1\n@1 dance\n").status()),
              HasSubstr("line 2"));
}

TEST(Median, IsTheMiddleOne) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace paceline::compare
