#include "lib/worker/loop/step_stop.h"

#include <thread>

#include <gtest/gtest.h>

namespace paceline::worker {
namespace {

const Status kGivenUp = Cancelled("given up");

struct Fixture {
  Time now{};
  StepStop stop{[this] { return now; }};
};

TEST(StepStop, EndsTheStepThatIsNamedAndNoOther) {
  Fixture f;
  EXPECT_TRUE(f.stop.MayGoOn());
  f.stop.Begin(Sequence(3));
  f.stop.Interrupt(Sequence(2));
  EXPECT_TRUE(f.stop.MayGoOn());
  f.stop.Interrupt(Sequence(3));
  EXPECT_FALSE(f.stop.MayGoOn());
  f.stop.End(kGivenUp);
  f.stop.Begin(Sequence(4));
  EXPECT_TRUE(f.stop.MayGoOn());
}

TEST(StepStop, RemembersAStepThatHasNotBegun) {
  Fixture f;
  f.stop.Interrupt(Sequence(3));
  f.stop.Begin(Sequence(2));
  EXPECT_TRUE(f.stop.MayGoOn());
  f.stop.End(OkStatus());
  f.stop.Begin(Sequence(3));
  EXPECT_FALSE(f.stop.MayGoOn());
}

// It would end the step before it a second time otherwise, or the next one of that number.
TEST(StepStop, NumbersMeanNothingInAnotherSession) {
  Fixture f;
  f.stop.Begin(Sequence(1));
  f.stop.Interrupt(Sequence(1));
  f.stop.End(kGivenUp);
  f.stop.Reset();
  f.stop.Begin(Sequence(1));
  EXPECT_TRUE(f.stop.MayGoOn());
}

TEST(StepStop, AStopIsForGood) {
  Fixture f;
  f.stop.Begin(Sequence(1));
  f.stop.Stop();
  EXPECT_FALSE(f.stop.MayGoOn());
  f.stop.End(kGivenUp);
  f.stop.Reset();
  f.stop.Begin(Sequence(1));
  EXPECT_FALSE(f.stop.MayGoOn());
  f.stop.Sleep(Seconds(3600));
}

// Another thread wakes it; were it not woken, the test would not end.
TEST(StepStop, EachReasonWakesWhoSleeps) {
  for (void (*wake)(StepStop&) :
       {+[](StepStop& stop) { stop.Interrupt(Sequence(1)); }, +[](StepStop& stop) { stop.Stop(); },
        +[](StepStop& stop) { stop.Hurry(); }}) {
    Fixture f;
    f.stop.Begin(Sequence(1));
    std::thread other([&] { wake(f.stop); });
    f.stop.Sleep(Seconds(3600));
    other.join();
  }
}

TEST(StepStop, AHurryLetsStepsGoOn) {
  Fixture f;
  f.stop.Begin(Sequence(1));
  f.stop.Hurry();
  EXPECT_TRUE(f.stop.MayGoOn());
}

TEST(StepStop, CountsWhatInterruptsCost) {
  Fixture f;
  f.stop.Begin(Sequence(1));
  f.now += Seconds(1);
  f.stop.Interrupt(Sequence(1));
  f.now += Seconds(2);
  f.stop.End(kGivenUp);
  EXPECT_EQ(f.stop.cost().steps, 0u);  // The next one has not begun.
  f.now += Seconds(3);
  f.stop.Begin(Sequence(2));
  f.stop.End(OkStatus());
  f.now += Seconds(100);
  f.stop.Interrupt(Sequence(3));  // Before it begins: from when it was said.
  f.now += Seconds(1);
  f.stop.Begin(Sequence(3));
  f.stop.End(kGivenUp);
  f.now += Seconds(1);
  f.stop.Begin(Sequence(4));
  const StepStop::Cost cost = f.stop.cost();
  EXPECT_EQ(cost.steps, 2u);
  EXPECT_EQ(cost.until_stopped, Seconds(3));
  EXPECT_EQ(cost.until_next, Seconds(7));
  EXPECT_EQ(cost.until_next_max, Seconds(5));
}

// Its push goes out: no step was given up.
TEST(StepStop, AnInterruptThatComesTooLateForItsStepCostsNothing) {
  Fixture f;
  f.stop.Begin(Sequence(1));
  f.stop.Interrupt(Sequence(1));
  f.stop.End(OkStatus());
  f.stop.Begin(Sequence(2));
  EXPECT_TRUE(f.stop.MayGoOn());
  EXPECT_EQ(f.stop.cost().steps, 0u);
}

}  // namespace
}  // namespace paceline::worker
