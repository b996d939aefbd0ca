#include "lib/chaos/trace_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::chaos {
namespace {

using ::testing::HasSubstr;

TEST(TraceTable, HasRowsOfStepsAndColumnsOfWorkers) {
  const StatusOr<TraceTable> table = TraceTable::Parse("# recorded\n0.5, 1\r\n\n2,\t3e-1\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->rows(), 2);
  EXPECT_EQ(table->columns(), 2);
  EXPECT_EQ(table->Seconds(0, 0), 0.5);
  EXPECT_EQ(table->Seconds(0, 1), 1);
  EXPECT_EQ(table->Seconds(1, 1), 0.3);
}

TEST(TraceTable, StartsOverAtItsEnds) {
  const StatusOr<TraceTable> table = TraceTable::Parse("1,2\n3,4\n5,6");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->Seconds(3, 0), 1);
  EXPECT_EQ(table->Seconds(7, 5), 4);
}

TEST(TraceTable, NamesTheLineThatIsWrong) {
  const auto error = [](const char* csv) { return Message(TraceTable::Parse(csv).status()); };
  EXPECT_THAT(error(""), HasSubstr("at least one row"));
  EXPECT_THAT(error("# nothing\n\n"), HasSubstr("at least one row"));
  EXPECT_THAT(error("1,2\n3"), HasSubstr("line 2: must have 2 columns, as the first row: got 1"));
  EXPECT_THAT(error("1\nslow"), HasSubstr("line 2: must be seconds from 0 to 3600"));
  EXPECT_THAT(error("1,"), HasSubstr("got \"\""));
  EXPECT_THAT(error("-1"), HasSubstr("got \"-1\""));
  EXPECT_THAT(error("nan"), HasSubstr("got \"nan\""));
  EXPECT_THAT(error("3601"), HasSubstr("got \"3601\""));
  EXPECT_THAT(error("1 2"), HasSubstr("got \"1 2\""));
}

}  // namespace
}  // namespace paceline::chaos
