#include "lib/sync/schemes/cautions.h"

#include <gmock/gmock.h>

namespace paceline::sync {
namespace {

std::vector<std::string> PartsCautionedOf(const std::string& spec) {
  std::vector<std::string> parts;
  for (const Caution& caution : CautionsOf(*ParsePolicySpec(spec))) parts.push_back(caution.part);
  return parts;
}

TEST(Cautions, AreOfBatchesBySpeedWhereSomeAreNotWaitedFor) {
  for (const char* spec : {"DBW batch=64 workers=4 sizing=NARX",
                           "BackupWorkers batch=64 workers=4 backup=1 sizing=EMA",
                           "BSP batch=64 workers=4 quorum=3 sizing=Stepwise"}) {
    EXPECT_THAT(PartsCautionedOf(spec), ::testing::ElementsAre("batchSizing")) << spec;
  }
}

TEST(Cautions, AreNoneWhereAllAreOrEachPushCounts) {
  for (const char* spec :
       {"BSP batch=64 workers=4 sizing=NARX", "DBW batch=64 workers=4",
        "SSP batch=64 workers=4 sizing=EMA", "WBSP batch=64 workers=4 sizing=NARX",
        "PSPlus batch=64 workers=4 sizing=EMA"}) {
    EXPECT_THAT(PartsCautionedOf(spec), ::testing::IsEmpty()) << spec;
  }
}

}  // namespace
}  // namespace paceline::sync
