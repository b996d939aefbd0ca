#include "ps-server/shard/slice_saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::ps {
namespace {

using ::testing::HasSubstr;

constexpr files::DiskSpace kDisk{.total_bytes = 100'000'000'000, .free_bytes = 12'000'000'000};

TEST(SliceSaverTest, ATenthOfTheDiskStaysFreeWhereThatIsAsked) {
  EXPECT_TRUE(CheckRoom(kDisk, 2'000'000'000, 0.1, "/runs").ok());
  const Status status = CheckRoom(kDisk, 2'000'000'001, 0.1, "/runs");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(status),
            "/runs: 2.0 GB more would leave less than 10 % of the disk free: 12.0 GB of 100.0 GB "
            "are");
}

// A disk that is nearly full for other reasons costs no job its checkpoints.
TEST(SliceSaverTest, AHundredthOfWhatIsFreeMayAlwaysBeWritten) {
  constexpr files::DiskSpace kNearlyFull{.total_bytes = 100'000'000'000,
                                         .free_bytes = 3'000'000'000};
  EXPECT_TRUE(CheckRoom(kNearlyFull, 30'000'000, 0.1, "/runs").ok());
  const Status status = CheckRoom(kNearlyFull, 30'000'001, 0.1, "/runs");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("3.0 GB of 100.0 GB are"));
}

TEST(SliceSaverTest, SmallSizesAreNotSaidToBeNone) {
  const Status status =
      CheckRoom({.total_bytes = 50'000'000, .free_bytes = 900'000}, 12'345, 0.1, "/runs");
  EXPECT_EQ(Message(status),
            "/runs: 12.3 kB more would leave less than 10 % of the disk free: 900.0 kB of 50.0 MB "
            "are");
}

TEST(SliceSaverTest, WhoeverAskedForCheckpointsMayFillTheDisk) {
  EXPECT_TRUE(CheckRoom(kDisk, 50'000'000'000, 0, "/volume").ok());
}

}  // namespace
}  // namespace paceline::ps
