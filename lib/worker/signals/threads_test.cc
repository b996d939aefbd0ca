#include "lib/worker/signals/threads.h"

#include <gtest/gtest.h>

namespace paceline::worker {
namespace {

TEST(ChooseThreads, TheManifestGoesBeforeTheEnvironmentAndThatBeforeTheLimit) {
  EXPECT_EQ(ChooseThreads(3, "4", 8.0).count, 3);
  EXPECT_EQ(ChooseThreads(std::nullopt, "4", 8.0).count, 4);
  EXPECT_EQ(ChooseThreads(std::nullopt, nullptr, 8.0).count, 8);
  EXPECT_EQ(ChooseThreads(std::nullopt, nullptr, std::nullopt).count, 1);
}

TEST(ChooseThreads, OfALimitWhatItCoversInFull) {
  EXPECT_EQ(ChooseThreads(std::nullopt, nullptr, 2.9).count, 2);
  EXPECT_EQ(ChooseThreads(std::nullopt, nullptr, 0.1).count, 1);
  EXPECT_EQ(ChooseThreads(std::nullopt, nullptr, 2.9).why, "a CPU limit of 2.9");
}

TEST(ChooseThreads, OfAListTheOutermostLevel) {
  EXPECT_EQ(ChooseThreads(std::nullopt, "4,2,1", std::nullopt).count, 4);
}

TEST(ChooseThreads, SaysWhatIsNoNumberOfThreads) {
  for (const char* const text : {"", "0", "-2", "many", "4 cores", "99999999999"}) {
    const Threads threads = ChooseThreads(std::nullopt, text, 2.0);
    EXPECT_EQ(threads.count, 2) << text;
    EXPECT_EQ(threads.ignored, std::string("OMP_NUM_THREADS is \"") + text +
                                   "\", want a whole number of at least 1");
  }
  EXPECT_EQ(ChooseThreads(std::nullopt, "4", 2.0).ignored, "");
}

}  // namespace
}  // namespace paceline::worker
