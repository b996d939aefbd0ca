// Who is at fault, whatever the order in which workers compute and push: walks by chance.
#include "tests/explore/coordination/sick_world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/sync/contract/words.h"

namespace paceline::coordination {
namespace {

using ::testing::ElementsAreArray;
using testing::Harm;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using testing::SampleAt;
using testing::SickWorld;
using testing::SickWorldOptions;

constexpr uint64_t kWalks = 60;

class SickWorldTest : public ::testing::TestWithParam<sync::Scheme> {
 protected:
  static void ExpectFoundAndNobodyBlamed(const SickWorldOptions& options) {
    SickWorld world(options);
    world.Run();
    ASSERT_EQ(world.RollBacks(), 0u) << world.job().coordinator.status().last_roll_back;
    ASSERT_THAT(world.Expelled(), IsEmpty());
    ExpectFoundAlone(options, world);
  }

  // In both epochs, and nothing else with it.
  static void ExpectFoundAlone(const SickWorldOptions& options, const SickWorld& world) {
    ASSERT_TRUE(world.IsFinishing()) << world.job().coordinator.Describe();
    ASSERT_THAT(world.Found(), ElementsAreArray(options.poisoned));
    ASSERT_EQ(world.Discarded(), options.poisoned.size() * options.epochs);
  }
};

// The last positions are the corner: what is left of the job when a sample there is met is that
// sample, and nobody makes a finite push any more.
TEST_P(SickWorldTest, APoisonedSampleIsFoundAndNobodyIsBlamed) {
  for (const uint64_t workers : {2, 3, 4}) {
    for (const uint64_t position : {0, 21, 40, 56, 62, 63}) {
      for (uint64_t walk = 0; walk < kWalks; ++walk) {
        SCOPED_TRACE(fmt::format("{} workers, position {}, walk {}", workers, position, walk));
        SickWorldOptions options{.scheme = GetParam(), .workers = workers, .seed = walk};
        options.poisoned = {SampleAt(position, options)};
        ExpectFoundAndNobodyBlamed(options);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Whatever else its workers held at the time: several steps a push, leases for later ones.
TEST_P(SickWorldTest, ASampleThatEndsProcessesIsLeftOutAlone) {
  for (const Harm harm : {Harm::kEndsProcess, Harm::kHangs}) {
    for (const bool is_one_a_push : {true, false}) {
      for (const uint64_t workers : {2, 3, 4}) {
        for (const uint64_t position : {0, 21, 40, 63}) {
          for (uint64_t walk = 0; walk < kWalks; ++walk) {
            SCOPED_TRACE(fmt::format("{}, {} a push, {} workers, position {}, walk {}",
                                     harm == Harm::kHangs ? "hangs" : "ends",
                                     is_one_a_push ? "one" : "several", workers, position, walk));
            SickWorldOptions options{.scheme = GetParam(), .workers = workers, .seed = walk};
            options.harm = harm;
            options.is_one_a_push = is_one_a_push;
            options.poisoned = {SampleAt(position, options)};
            SickWorld world(options);
            world.Run();
            ExpectFoundAlone(options, world);
            ASSERT_EQ(world.RollBacks(), 0u);
            // Two for the range and one for the sample, in each epoch that is open. Which step it
            // was is known of one that hangs.
            if (harm == Harm::kHangs) {
              ASSERT_LE(world.Broken(), 6u);
            }
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// What local steps make of a copy that an ill push left is ill, whatever its samples: it accuses
// nothing. Rare enough to need many walks.
TEST(SickCopyTest, ACopyThatIsIllCostsNoSampleThatIsWell) {
  for (const uint64_t position : {21, 63}) {
    for (uint64_t walk = 0; walk < 600; ++walk) {
      SCOPED_TRACE(fmt::format("position {}, walk {}", position, walk));
      SickWorldOptions options{.scheme = sync::Scheme::kWbsp, .seed = walk};
      options.poisoned = {SampleAt(position, options)};
      SickWorld world(options);
      world.Run();
      ASSERT_EQ(world.RollBacks(), 0u);
      ASSERT_THAT(world.Found(), ElementsAreArray(options.poisoned));
      ASSERT_EQ(world.Discarded(), options.epochs);
    }
  }
}

// Of one epoch, in steps of one sample for each of four workers: it alone is left.
TEST_P(SickWorldTest, TheLastSampleThereIsMayBeThePoisonedOne) {
  for (const uint64_t position : {12, 13, 14, 15}) {
    for (uint64_t walk = 0; walk < kWalks; ++walk) {
      SCOPED_TRACE(fmt::format("position {}, walk {}", position, walk));
      SickWorldOptions options{
          .scheme = GetParam(), .samples = 16, .global_batch_size = 4, .epochs = 1, .seed = walk};
      options.poisoned = {SampleAt(position, options)};
      ExpectFoundAndNobodyBlamed(options);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(SickWorldTest, AWorkerThatIsIllIsExpelledAndNobodyElse) {
  for (const uint64_t workers : {2, 3, 4}) {
    for (uint64_t walk = 0; walk < kWalks; ++walk) {
      SCOPED_TRACE(fmt::format("{} workers, walk {}", workers, walk));
      SickWorld world(
          {.scheme = GetParam(), .workers = workers, .seed = walk, .sick = {walk % workers}});
      world.Run();
      ASSERT_EQ(world.RollBacks(), 0u) << world.job().coordinator.status().last_roll_back;
      ASSERT_THAT(world.Expelled(), IsSubsetOf({walk % workers}));
      ASSERT_THAT(world.Found(), IsEmpty());
      ASSERT_TRUE(world.IsFinishing()) << world.job().coordinator.Describe();
    }
  }
}

TEST_P(SickWorldTest, AModelThatIsIllGoesBackAndConvictsNoSample) {
  for (const uint64_t workers : {2, 3, 4}) {
    for (uint64_t walk = 0; walk < kWalks; ++walk) {
      SCOPED_TRACE(fmt::format("{} workers, walk {}", workers, walk));
      SickWorld world({.scheme = GetParam(), .workers = workers, .seed = walk, .ill_from = 3});
      world.Run();
      ASSERT_EQ(world.RollBacks(), 1u) << world.job().coordinator.Describe();
      ASSERT_THAT(world.Found(), IsEmpty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, SickWorldTest,
                         ::testing::Values(sync::Scheme::kBsp, sync::Scheme::kBackupWorkers,
                                           sync::Scheme::kSsp, sync::Scheme::kAsp,
                                           sync::Scheme::kDbw, sync::Scheme::kWbsp,
                                           sync::Scheme::kPsPlus, sync::Scheme::kKAsync,
                                           sync::Scheme::kKBatchAsync),
                         [](const auto& info) { return std::string(sync::ToString(info.param)); });

}  // namespace
}  // namespace paceline::coordination
