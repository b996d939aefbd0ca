#include "cli/local/display/live_table.h"

#include <gtest/gtest.h>

namespace paceline::local {
namespace {

LiveState Running() {
  LiveState state;
  state.phase = "training";
  state.step = 1200;
  state.epochs = 3.5;
  state.percent = 42;
  state.samples_per_second = 2913;
  state.scheme = "SSP";
  state.workers = {{.index = 0,
                    .is_member = true,
                    .device = "CUDA",
                    .threads = 8,
                    .steps = 1100,
                    .samples = 70400,
                    .batch_size = 64,
                    .compute_share = 0.8,
                    .wait_share = 0.15,
                    .communication_share = 0.05},
                   {.index = 11, .is_member = true, .is_draining = true, .steps = 9},
                   {.index = 12}};
  return state;
}

TEST(LiveTextTest, IsALineAndATable) {
  EXPECT_EQ(
      LiveText(Running()),
      "42 %  step 1,200  epoch 3.5  2,913 samples/s  SSP\n"
      "WORKER  STATE    DEVICE  THREADS  STEPS  SAMPLES  BATCH  COMPUTE  WAIT  COMMUNICATION\n"
      "     0  working  CUDA          8  1,100   70,400     64     80 %  15 %            5 %\n"
      "    11  leaving                       9        0      0      0 %   0 %            0 %\n"
      "    12  gone                          0        0      0      0 %   0 %            0 %\n");
}

TEST(LiveTextTest, NamesTheGroupOfAWorker) {
  LiveState state = Running();
  state.workers.resize(1);
  state.workers[0].group = "big";
  EXPECT_EQ(
      LiveText(state),
      "42 %  step 1,200  epoch 3.5  2,913 samples/s  SSP\n"
      "WORKER  STATE    DEVICE  THREADS  STEPS  SAMPLES  BATCH  COMPUTE  WAIT  COMMUNICATION\n"
      " big/0  working  CUDA          8  1,100   70,400     64     80 %  15 %            5 %\n");
}

TEST(LiveTextTest, SaysWhyItWentBack) {
  LiveState state = Running();
  state.workers.clear();
  state.roll_backs = 1;
  state.last_roll_back = "shard s1 lost: gone; back to version 320, checkpoint c";
  EXPECT_EQ(
      LiveText(state),
      "42 %  step 1,200  epoch 3.5  2,913 samples/s  SSP\n"
      "rolled back once: shard s1 lost: gone; back to version 320, checkpoint c\n"
      "WORKER  STATE  DEVICE  THREADS  STEPS  SAMPLES  BATCH  COMPUTE  WAIT  COMMUNICATION\n");
  state.roll_backs = 2;
  EXPECT_NE(LiveText(state).find("rolled back 2 times, the last: shard s1"), std::string::npos);
}

TEST(LiveTextTest, SaysThatTheSchemeChangesAndHowItEnded) {
  LiveState state = Running();
  state.is_changing_scheme = true;
  state.workers.clear();
  state.finished = LiveFinish{false, "shard s1 lost"};
  EXPECT_EQ(
      LiveText(state),
      "42 %  step 1,200  epoch 3.5  2,913 samples/s  SSP (changing)\n"
      "failed: shard s1 lost\n"
      "WORKER  STATE  DEVICE  THREADS  STEPS  SAMPLES  BATCH  COMPUTE  WAIT  COMMUNICATION\n");
}

}  // namespace
}  // namespace paceline::local
