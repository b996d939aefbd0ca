#include "lib/worker/loop/delayed_trainer.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/worker/loop/step_stop.h"

namespace paceline::worker {
namespace {

class FakeTrainer : public Trainer {
 public:
  const store::Layout& layout() const override { return layout_; }
  uint64_t train_samples() const override { return 100; }
  Status BeginAnew() override { return OkStatus(); }
  std::span<std::byte> parameters() override { return std::as_writable_bytes(std::span(values_)); }
  std::span<const std::byte> push() const override { return std::as_bytes(std::span(values_)); }
  StatusOr<StepResult> Step(std::span<const protocol::SampleRange> ranges,
                            StepControl& control) override {
    may_hand_over = control.push() != nullptr;
    if (!status.ok()) return status;
    return StepResult{.loss = 0.5, .samples = ranges.front().size()};
  }
  StatusOr<Evaluation> Evaluate(const std::function<void()>&) override {
    return Evaluation{.accuracy = 0.5};
  }

  Status status;
  bool may_hand_over = false;

 private:
  store::Layout layout_ = *store::Layout::Create({{.name = "weight", .shape = {4}}});
  std::vector<float> values_ = std::vector<float>(4);
};

job::Chaos ChaosOf(job::Delay delay) { return {.enabled = true, .delays = {std::move(delay)}}; }

struct Fixture {
  FakeTrainer inner;
  Time now{};
  DelayedTrainer trainer;

  // The clock goes on by a second each time it is read.
  explicit Fixture(job::Delay delay, const chaos::TraceTexts& traces = {})
      : trainer(&inner, *chaos::Delays::Create(ChaosOf(std::move(delay)), WorkerId(0), traces),
                [this] { return now += Seconds(1); }) {}
  StatusOr<StepResult> Step() {
    return trainer.Step(std::vector<protocol::SampleRange>{{0, 0, 8}}, stop);
  }
  StepStop stop{[] { return Time(); }};
};

class NoPush final : public rpc::BegunPush {
 public:
  void Put(uint64_t, std::span<const std::byte>) override {}
  StatusOr<rpc::PushReport> Seal() override { return rpc::PushReport(); }
};

// A slow link would take a gradient while its worker only pretends to compute.
TEST(DelayedTrainer, HandsNothingOverBeforeItsDelayIsOver) {
  class Control final : public StepControl {
   public:
    bool MayGoOn() override { return true; }
    void Sleep(Duration) override {}
    rpc::BegunPush* push() override { return &push_; }

   private:
    NoPush push_;
  } control;
  Fixture f({.kind = job::DelayKind::kConstant, .seconds = 0.001});
  f.inner.may_hand_over = true;
  const auto result = f.trainer.Step(std::vector<protocol::SampleRange>{{0, 0, 8}}, control);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(f.inner.may_hand_over);
  EXPECT_FALSE(result->is_handed);
}

TEST(DelayedTrainer, SaysWhatItSlept) {
  Fixture f({.kind = job::DelayKind::kConstant, .seconds = 0.001});
  const StatusOr<StepResult> result = f.Step();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->loss, 0.5);
  EXPECT_EQ(result->samples, 8);
  EXPECT_EQ(result->injected, Seconds(1));  // By this clock, between two readings.
  EXPECT_EQ(f.Step()->injected, Seconds(1));
  EXPECT_EQ(f.trainer.injected(), Seconds(2));
}

TEST(DelayedTrainer, WithoutADelayNothingIsInjected) {
  Fixture f({.kind = job::DelayKind::kPerWorker, .per_worker = {0, 5}});
  ASSERT_TRUE(f.Step().ok());
  EXPECT_EQ(f.trainer.injected(), Duration::zero());
}

TEST(DelayedTrainer, CountsOnlyStepsThatSucceeded) {
  Fixture f({.kind = job::DelayKind::kStepChange, .at_step = 1, .factor = 1.001, .fraction = 1});
  f.inner.status = ResourceExhausted("out of memory");
  EXPECT_EQ(f.Step().status().code(), StatusCode::kResourceExhausted);
  f.inner.status = OkStatus();
  ASSERT_TRUE(f.Step().ok());  // Its first.
  EXPECT_EQ(f.trainer.injected(), Duration::zero());
  ASSERT_TRUE(f.Step().ok());
  EXPECT_GT(f.trainer.injected(), Duration::zero());
}

TEST(DelayedTrainer, LeavesEvaluationAlone) {
  Fixture f({.kind = job::DelayKind::kConstant, .seconds = 3600});
  EXPECT_EQ(f.trainer.Evaluate({})->accuracy, 0.5);
}

TEST(DelayedTrainer, AHurryEndsTheSleepAndAllLaterOnesAndTheStepCounts) {
  Fixture f({.kind = job::DelayKind::kConstant, .seconds = 3600});
  std::thread other([&f] { f.stop.Hurry(); });
  EXPECT_TRUE(f.Step().ok());
  other.join();
  EXPECT_TRUE(f.Step().ok());
}

TEST(DelayedTrainer, AnInterruptEndsTheSleepAndTheStep) {
  Fixture f({.kind = job::DelayKind::kConstant, .seconds = 3600});
  f.stop.Begin(Sequence(4));
  std::thread other([&f] { f.stop.Interrupt(Sequence(4)); });
  EXPECT_EQ(f.Step().status().code(), StatusCode::kCancelled);
  other.join();
  EXPECT_EQ(f.trainer.injected(), Seconds(1));  // Slept all the same.
}

// Its delay was drawn: the next step has another, here none.
TEST(DelayedTrainer, AStepThatIsInterruptedInItsSleepHasUsedItsNumber) {
  Fixture f({.kind = job::DelayKind::kTrace, .trace = "t.csv"}, {{"t.csv", "3600\n0\n"}});
  f.stop.Begin(Sequence(1));
  f.stop.Interrupt(Sequence(1));
  EXPECT_EQ(f.Step().status().code(), StatusCode::kCancelled);
  f.stop.Begin(Sequence(2));
  ASSERT_TRUE(f.Step().ok());
  EXPECT_EQ(f.trainer.injected(), Seconds(1));  // Of the first.
}

}  // namespace
}  // namespace paceline::worker
