#include "lib/sync/schemes/dbw/late_arrivals.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace paceline::sync {
namespace {

using ::testing::ElementsAre;

Time At(double seconds) { return Time{} + Seconds(seconds); }

struct Fixture {
  LateArrivals late;
  std::vector<std::string> seen;

  void Began(uint64_t version, uint32_t h, double seconds, uint32_t members = 3,
             std::optional<double> deadline = std::nullopt) {
    late.Began(Version(version), h, members, deadline ? std::optional(At(*deadline)) : std::nullopt,
               At(seconds));
  }
  void Pushed(uint32_t worker, uint64_t based_on, double seconds) {
    const auto arrival = late.Pushed(WorkerId(worker), Version(based_on), At(seconds));
    if (arrival && arrival->is_late)
      seen.push_back(fmt::format("({}, {}) {}", arrival->h, arrival->rank, arrival->seconds));
  }
};

TEST(LateArrivals, WhoFinishesTheStepAfterItHasClosedHasItsTime) {
  Fixture f;
  f.Began(5, 3, 10);
  f.Pushed(0, 5, 11);  // Not late: the step sees it itself.
  f.late.Closed();
  f.Began(6, 1, 11);
  f.Pushed(1, 5, 12);
  f.Pushed(2, 5, 14);
  EXPECT_THAT(f.seen, ElementsAre("(3, 2) 2", "(3, 3) 4"));
}

// It was busy with an older step when this one began, and would have begun it when that was done.
TEST(LateArrivals, WhoWasBusyWhenTheStepBeganCountsWithItsNextPush) {
  Fixture f;
  f.Began(5, 1, 10);
  f.Pushed(0, 5, 11);
  f.late.Closed();
  f.Began(6, 1, 11);
  f.Pushed(2, 4, 11.5);  // Begun before.
  f.Pushed(0, 6, 12);    // Seen already.
  f.late.Closed();
  f.Began(7, 1, 12);
  f.Pushed(2, 6, 13);
  f.Pushed(1, 5, 16);
  EXPECT_THAT(f.seen, ElementsAre("(1, 2) 3", "(1, 3) 6"));
}

TEST(LateArrivals, TheNextStepIsFollowedWhenAllHaveCome) {
  Fixture f;
  f.Began(5, 3, 10);
  f.Pushed(0, 5, 11);
  f.late.Closed();
  f.Began(6, 1, 11);
  f.Pushed(1, 5, 12);
  f.Pushed(2, 5, 13);  // The last one.
  f.Pushed(0, 6, 14);
  f.late.Closed();
  f.Began(7, 1, 14);
  f.Pushed(0, 7, 15);
  f.late.Closed();
  f.Pushed(2, 7, 16);
  EXPECT_THAT(f.seen, ElementsAre("(3, 2) 2", "(3, 3) 3", "(1, 2) 2"));
}

TEST(LateArrivals, OtherMembersAreAnotherStep) {
  Fixture f;
  f.Began(5, 3, 10);
  f.Pushed(0, 5, 11);
  f.late.Closed();
  f.Began(6, 1, 11, 4);
  f.Pushed(1, 5, 12);
  EXPECT_THAT(f.seen, ElementsAre());
  f.Pushed(0, 6, 12);
  f.late.Closed();
  f.Pushed(2, 6, 13);
  EXPECT_THAT(f.seen, ElementsAre("(1, 2) 2"));
  f.late.GiveUp();
  f.Pushed(3, 6, 14);
  EXPECT_THAT(f.seen, ElementsAre("(1, 2) 2"));
}

TEST(LateArrivals, AStepThatBeginsAnewIsTimedAnew) {
  Fixture f;
  f.Began(5, 3, 10);
  f.Began(5, 3, 20);
  f.Pushed(0, 5, 21);
  f.late.Closed();
  f.Pushed(1, 5, 22);
  EXPECT_THAT(f.seen, ElementsAre("(3, 2) 2"));
}

TEST(LateArrivals, WhoIsSilentForTooLongSaysNothing) {
  Fixture f;
  f.Began(5, 3, 10, 3, 20);
  f.Pushed(0, 5, 11);
  f.late.Closed();
  f.Began(6, 1, 11, 3, 21);
  f.Pushed(1, 5, 20);
  f.Pushed(2, 5, 20.5);
  EXPECT_THAT(f.seen, ElementsAre("(3, 2) 10"));
  // Nor does it hold up the next one for ever.
  f.Began(7, 1, 22, 3, 32);
  f.Pushed(0, 7, 23);
  f.late.Closed();
  f.Began(8, 1, 33, 3, 43);
  f.Pushed(1, 7, 34);
  f.Pushed(0, 8, 35);
  f.late.Closed();
  f.Pushed(1, 8, 36);
  EXPECT_THAT(f.seen, ElementsAre("(3, 2) 10", "(1, 2) 3"));
}

}  // namespace
}  // namespace paceline::sync
