#include "lib/worker/loop/heartbeat.h"

#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/worker/loop/pulsing_trainer.h"
#include "lib/worker/loop/step_stop.h"

namespace paceline::worker {
namespace {

using protocol::Doing;

// Keeps what was said; over once it is told so.
class Listener : public Session {
 public:
  Status Send(const protocol::WorkerMessage& message) override {
    std::lock_guard lock(mutex_);
    if (is_over_) return Unavailable("over");
    beats_.push_back(std::get<protocol::Heartbeat>(message));
    changed_.notify_all();
    return OkStatus();
  }
  StatusOr<protocol::WorkerOrder> Receive(Duration) override { return Unavailable("nothing"); }
  std::optional<std::string> expelled() const override {
    std::lock_guard lock(mutex_);
    return expelled_;
  }
  void OnInterrupt(std::function<void(Sequence)>) override {}
  void Close() override {}

  void End(std::optional<std::string> expelled) {
    std::lock_guard lock(mutex_);
    is_over_ = true;
    expelled_ = std::move(expelled);
  }
  // The next beat that comes after now.
  protocol::Heartbeat Next() {
    std::unique_lock lock(mutex_);
    const size_t before = beats_.size();
    changed_.wait(lock, [&] { return beats_.size() > before; });
    return beats_.back();
  }
  // The first beat from now on of a step that has been still for so long.
  protocol::Heartbeat Still(Duration still) {
    while (true) {
      const protocol::Heartbeat beat = Next();
      if (beat.still >= still) return beat;
    }
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::optional<std::string> expelled_;
  std::vector<protocol::Heartbeat> beats_;
};

// Looks at the pulse while it evaluates two batches, or computes two gradients.
class Looking final : public Trainer {
 public:
  explicit Looking(const Pulse* pulse) : pulse_(pulse) {}
  const store::Layout& layout() const override { return layout_; }
  uint64_t train_samples() const override { return 0; }
  Status BeginAnew() override { return OkStatus(); }
  std::span<std::byte> parameters() override { return {}; }
  std::span<const std::byte> push() const override { return {}; }
  StatusOr<StepResult> Step(std::span<const protocol::SampleRange>, StepControl& control) override {
    for (int gradient = 0; gradient < 2; ++gradient) {
      seen.push_back(pulse_->Read());
      if (!control.MayGoOn()) return Cancelled("interrupted");
    }
    return StepResult{};
  }
  StatusOr<Evaluation> Evaluate(const std::function<void()>& on_progress) override {
    for (int batch = 0; batch < 2; ++batch) {
      seen.push_back(pulse_->Read());
      on_progress();
    }
    return Evaluation{};
  }

  std::vector<Pulse::Reading> seen;

 private:
  const Pulse* const pulse_;
  store::Layout layout_;
};

TEST(PulsingTrainerTest, AnEvaluationIsComputingAndEachBatchIsProgress) {
  Pulse pulse;
  Looking trainer(&pulse);
  EXPECT_TRUE(PulsingTrainer(&trainer, &pulse).Evaluate({}).ok());
  ASSERT_EQ(trainer.seen.size(), 2u);
  EXPECT_EQ(trainer.seen[0].doing, Doing::kComputing);
  EXPECT_NE(trainer.seen[0].ticks, trainer.seen[1].ticks);
  EXPECT_EQ(pulse.Read().doing, Doing::kWaiting);
}

TEST(PulsingTrainerTest, EachQuestionOfAStepIsProgressAndIsAnswered) {
  Pulse pulse;
  Looking trainer(&pulse);
  StepStop stop([] { return Time(); });
  PulsingTrainer pulsing(&trainer, &pulse);
  EXPECT_TRUE(pulsing.Step({}, stop).ok());
  ASSERT_EQ(trainer.seen.size(), 2u);
  EXPECT_EQ(trainer.seen[0].doing, Doing::kComputing);
  EXPECT_NE(trainer.seen[0].ticks, trainer.seen[1].ticks);
  stop.Stop();
  EXPECT_EQ(pulsing.Step({}, stop).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(pulse.Read().doing, Doing::kWaiting);
}

constexpr Duration kPeriod = std::chrono::milliseconds(2);

TEST(HeartbeatTest, SaysForHowLongAStepHasMadeNoProgress) {
  const auto session = std::make_shared<Listener>();
  Pulse pulse;
  pulse.BeginStep();
  pulse.EndStep();  // Of an earlier session: not counted.
  const Heartbeat heartbeat(session, {.period = kPeriod, .pulse = &pulse});
  EXPECT_EQ(session->Next().doing, Doing::kWaiting);
  pulse.BeginStep();
  const protocol::Heartbeat still = session->Still(5 * kPeriod);
  EXPECT_EQ(still.doing, Doing::kComputing);
  EXPECT_EQ(still.steps, 0u);
  pulse.EndStep();
  session->Next();
  const protocol::Heartbeat after = session->Next();
  EXPECT_EQ(after.steps, 1u);
  EXPECT_EQ(after.still, Duration::zero());
  EXPECT_EQ(after.doing, Doing::kWaiting);
}

TEST(HeartbeatTest, TellsForHowLongAScriptHasDoneWhatIsNoPartOfItsStep) {
  Pulse pulse;
  pulse.BeginStep();
  pulse.EnterScript();
  const auto listener = std::make_shared<Listener>();
  Heartbeat heartbeat(listener, {.period = std::chrono::milliseconds(1), .pulse = &pulse});
  EXPECT_EQ(listener->Still(std::chrono::milliseconds(3)).doing, Doing::kInScript);
  pulse.LeaveScript();
  EXPECT_EQ(pulse.Read().doing, Doing::kComputing);
  pulse.EnterScript();
  pulse.EndStep();
  EXPECT_EQ(pulse.Read().doing, Doing::kWaiting);
}

TEST(HeartbeatTest, WhatIsInjectedOrTransferredIsNotComputing) {
  const auto session = std::make_shared<Listener>();
  Pulse pulse;
  const Heartbeat heartbeat(session, {.period = kPeriod, .pulse = &pulse});
  {
    const Pulse::Transferring transferring(&pulse);
    session->Next();
    EXPECT_EQ(session->Next().doing, Doing::kTransferring);
    const Pulse::Delayed delayed(&pulse);
    session->Next();
    const protocol::Heartbeat beat = session->Next();
    EXPECT_EQ(beat.doing, Doing::kDelayed);
    EXPECT_EQ(beat.still, Duration::zero());
  }
  session->Next();
  EXPECT_EQ(session->Next().doing, Doing::kWaiting);
}

TEST(HeartbeatTest, EndsAWorkerThatIsExpelledAndDoesNotComeBack) {
  const auto session = std::make_shared<Listener>();
  std::promise<std::string> stuck;
  const Heartbeat heartbeat(
      session, {.period = kPeriod,
                .on_stuck = [&](const std::string& reason) { stuck.set_value(reason); },
                .stuck_after = kPeriod});
  session->Next();
  session->End("its step hangs");
  EXPECT_EQ(stuck.get_future().get(), "expelled: its step hangs");
}

// As when the job goes back while a step hangs: the coordinator forgets it.
TEST(HeartbeatTest, EndsAWorkerThatLostItsSessionOnlyIfItsStepIsStill) {
  const auto session = std::make_shared<Listener>();
  Pulse pulse;
  std::promise<std::string> stuck;
  const Heartbeat heartbeat(session,
                            {.period = kPeriod,
                             .pulse = &pulse,
                             .on_stuck = [&](const std::string& why) { stuck.set_value(why); },
                             .stuck_alone_after = 3 * kPeriod});
  session->Next();
  session->End(std::nullopt);
  pulse.BeginStep();
  EXPECT_EQ(stuck.get_future().get(), "session lost, and no progress for 0.006 s");
}

TEST(HeartbeatTest, LeavesAWorkerAloneThatComesBackOrLostItsSessionOnly) {
  for (const auto& expelled :
       {std::optional<std::string>("it hangs"), std::optional<std::string>()}) {
    const auto session = std::make_shared<Listener>();
    bool is_stuck = false;
    {
      const Heartbeat heartbeat(session, {.period = kPeriod,
                                          .on_stuck = [&](const std::string&) { is_stuck = true; },
                                          .stuck_after = std::chrono::hours(1)});
      session->Next();
      session->End(expelled);
    }
    EXPECT_FALSE(is_stuck);
  }
}

}  // namespace
}  // namespace paceline::worker
