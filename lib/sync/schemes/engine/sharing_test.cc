// The batch is shared out over those who take part.
#include "lib/sync/schemes/engine/sharing.h"

#include <gmock/gmock.h>

#include "lib/sync/testing.h"

namespace paceline::sync {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using testing::Script;
using Lines = std::vector<std::string>;

// Only DBW's quorum gives anybody up where rounds are strict: BSP's and that of BackupWorkers never
// do, so that there nobody is missing.
TEST(Sharing, WhoIsSilentHasNoPartOfAStrictRound) {
  for (const char* const sizing : {"", " sizing=EMA", " sizing=NARX", " sizing=Stepwise"}) {
    Script script("DBW batch=12 workers=3 dbw-silence-seconds=5" + std::string(sizing));
    script.FeedAll({"join w0", "join w1", "join w2", "push w0 #1 based-on=v0 samples=4 compute=1",
                    "push w1 #1 based-on=v0 samples=4 compute=1", "spare budget=0",
                    "spare budget=0"});
    EXPECT_THAT(script.Feed("deadline"), IsSupersetOf(Lines{"release w0 at v1 exact samples=6",
                                                            "release w1 at v1 exact samples=6"}))
        << sizing;
    script.Feed("committed v1");
    // Heard of again: as much as it had, and its part of the next round.
    EXPECT_THAT(script.Feed("push w2 #1 based-on=v0 samples=4 compute=1"),
                Contains("release w2 at v1 exact samples=4"))
        << sizing;
    const Lines lines = script.FeedAll({"push w0 #2 based-on=v1 samples=6 compute=1",
                                        "push w1 #2 based-on=v1 samples=6 compute=1",
                                        "push w2 #2 based-on=v1 samples=4 compute=1"});
    uint32_t samples = 0;
    for (const std::string& line : lines) {
      if (line.starts_with("release")) samples += std::stoi(line.substr(line.rfind('=') + 1));
    }
    EXPECT_EQ(samples, 12u) << sizing;
  }
}

// Then all have become slower rather than gone, and the first to push is given no work for three.
TEST(Sharing, WhereMostAreSilentPartsStay) {
  Script script("DBW batch=12 workers=3 dbw-silence-seconds=5");
  script.FeedAll({"join w0", "join w1", "join w2"});
  for (int second = 3; second < 7; ++second) script.Feed("spare budget=0");
  script.Feed("deadline");
  EXPECT_THAT(script.Feed("push w2 #1 based-on=v0 samples=4 compute=1"),
              Contains("release w2 at v1 exact samples=4"));
}

// The first round runs out of time after ten seconds.
TEST(Sharing, WhoIsSilentHasNoPartWhereWorkersMakeLocalSteps) {
  for (const char* const sizing : {"", " sizing=EMA"}) {
    Script script("WBSP batch=12 workers=3 basic round-timeout=2" + std::string(sizing));
    script.FeedAll({"join w0", "join w1", "join w2", "push w0 #1 based-on=v0 samples=4",
                    "push w1 #1 based-on=v0 samples=4"});
    for (int second = 5; second < 12; ++second) script.Feed("spare budget=0");
    EXPECT_THAT(script.Feed("deadline"), Contains("commit scale=1 deltas"));
    script.Feed("committed v1");
    EXPECT_THAT(script.Feed("push w0 #2 based-on=v0 samples=4"),
                Contains("release w0 at v1 exact samples=6 pacing=keep-going"))
        << sizing;
  }
}

// Without rounds each push makes a version, however small its part is, and shares stand for a
// sweep: as many pushes as there are members. The first step of each is not measured.
TEST(Sharing, WithoutRoundsSharesChangeOnceASweep) {
  Script script("ASP batch=12 workers=2 sizing=EMA newest-weight=0.9");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0 samples=6 compute=1",
                  "push w1 #1 based-on=v0 samples=6 compute=1",
                  "push w0 #2 based-on=v1 samples=6 compute=1"});
  EXPECT_THAT(script.Feed("push w1 #2 based-on=v2 samples=6 compute=3"),
              Contains("release w1 at v4 samples=3"));
  EXPECT_THAT(script.Feed("push w0 #3 based-on=v3 samples=6 compute=9"),
              Contains("release w0 at v5 samples=9"));
  EXPECT_THAT(script.Feed("push w1 #3 based-on=v4 samples=3 compute=1.5"),
              Contains("release w1 at v6 samples=8"));
}

// What does not divide goes to the first of those who are left, whoever is silent.
TEST(Sharing, TheRemainderIsNotTheSilentOnes) {
  Script script("WBSP batch=11 workers=3 basic round-timeout=2");
  script.FeedAll({"join w0", "join w1", "join w2", "push w1 #1 based-on=v0 samples=4",
                  "push w2 #1 based-on=v0 samples=3"});
  for (int second = 5; second < 12; ++second) script.Feed("spare budget=0");
  EXPECT_THAT(script.Feed("deadline"), Contains("commit scale=1 deltas"));
  script.Feed("committed v1");
  EXPECT_THAT(
      script.FeedAll({"push w1 #2 based-on=v0 samples=4", "push w2 #2 based-on=v0 samples=3"}),
      IsSupersetOf(Lines{"release w1 at v1 exact samples=6 pacing=keep-going",
                         "release w2 at v2 exact samples=5 pacing=keep-going"}));
  // Heard of again, it has its part at once: there is no barrier to wait for.
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0 samples=4"),
              Contains("release w0 at v2 exact samples=4 pacing=keep-going"));
}

}  // namespace
}  // namespace paceline::sync
