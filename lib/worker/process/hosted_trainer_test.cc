#include "lib/worker/process/hosted_trainer.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::worker {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr Duration kLong = std::chrono::seconds(20);

// Two parameters of two floats, one float buffer and one int64 buffer.
store::Layout SmallLayout() {
  return *store::Layout::Create({{.name = "a", .shape = {2}},
                                 {.name = "b", .shape = {2}},
                                 {.name = "mean", .shape = {1}, .kind = store::TensorKind::kBuffer},
                                 {.name = "count",
                                  .shape = {},
                                  .type = store::DataType::kInt64,
                                  .kind = store::TensorKind::kBuffer}});
}

class Control : public StepControl {
 public:
  bool MayGoOn() override {
    ++asked;
    return is_wanted;
  }
  void Sleep(Duration) override {}
  rpc::BegunPush* push() override { return begun; }
  void EnterScript() override { is_in_script = true; }
  void LeaveScript() override { is_in_script = false; }

  std::atomic<bool> is_in_script = false;
  std::atomic<bool> is_wanted = true;
  std::atomic<int> asked = 0;
  rpc::BegunPush* begun = nullptr;
};

class Pieces : public rpc::BegunPush {
 public:
  void Put(uint64_t offset_bytes, std::span<const std::byte> part) override {
    EXPECT_FALSE(parts.contains(offset_bytes)) << offset_bytes;
    parts[offset_bytes] = {part.begin(), part.end()};
  }
  StatusOr<rpc::PushReport> Seal() override { return rpc::PushReport(); }
  std::map<uint64_t, std::vector<std::byte>> parts;
};

float FloatAt(std::span<const std::byte> bytes, size_t index) {
  float value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

class HostedTrainerTest : public ::testing::Test {
 protected:
  HostedTrainerTest() : values_(SmallLayout().total_bytes()) {
    SetFloat(4, 5);
    trainer_.emplace(HostedTrainer::Options{.layout = SmallLayout(),
                                            .values = values_,
                                            .train_samples = 10,
                                            .epochs = 3,
                                            .seed = 3,
                                            .now = [this] { return Time(Duration(now_.load())); }});
  }
  void SetFloat(size_t index, float value) {
    std::memcpy(values_.data() + index * sizeof value, &value, sizeof value);
  }
  std::future<StatusOr<StepResult>> StartStep(std::vector<protocol::SampleRange> ranges) {
    return std::async(std::launch::async, [this, ranges = std::move(ranges)] {
      return trainer_->Step(ranges, control_);
    });
  }
  Status Try(size_t tensor, std::vector<float> gradient) {
    return trainer_->Hand(tensor, std::as_bytes(std::span(gradient)));
  }
  void Hand(size_t tensor, std::vector<float> gradient) {
    EXPECT_TRUE(Try(tensor, std::move(gradient)).ok());
  }

  std::vector<std::byte> values_;
  std::atomic<int64_t> now_ = 0;  // Of the clock, in its own unit.
  Control control_;
  std::optional<HostedTrainer> trainer_;
};

TEST_F(HostedTrainerTest, AStepIsTheHostsSamplesInTheEpochsOrder) {
  auto step = StartStep({{.epoch = 2, .begin = 8, .end = 10}, {.epoch = 3, .begin = 0, .end = 1}});
  const HostedWork work = trainer_->Next(kLong);
  ASSERT_EQ(work.kind, HostedWork::Kind::kStep);
  EpochOrder order(10, 3);
  EXPECT_THAT(work.samples, ElementsAre(order.Epoch(2)[8], order.Epoch(2)[9], order.Epoch(3)[0]));
  EXPECT_THAT(work.ranges, SizeIs(2));
  Hand(1, {3, 4});
  Hand(0, {1, 2});
  trainer_->EndStep(0.5, 3, 2);
  const StatusOr<StepResult> result = step.get();
  ASSERT_TRUE(result.ok()) << Message(result.status());
  EXPECT_EQ(result->loss, 0.5);
  EXPECT_EQ(result->samples, 3U);
  EXPECT_EQ(result->correct, 2U);
  EXPECT_FALSE(result->is_handed);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(FloatAt(trainer_->push(), i), i + 1.0F);
  EXPECT_EQ(FloatAt(trainer_->push(), 4), 5) << "a buffer's value";
  EXPECT_THAT(result->without_gradient, SizeIs(0));
}

TEST_F(HostedTrainerTest, AStepBeginsWhenTheHostSaysSoAndALongPauseIsNoTimeOfIts) {
  for (const double seconds : {1.0, 1.0, 1.0, 10.0, 11.0, 1.0}) {
    auto step = StartStep({{.epoch = 0, .begin = 0, .end = 2}});
    ASSERT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kStep);
    EXPECT_TRUE(control_.is_in_script);
    now_ += Seconds(seconds).count();
    trainer_->Begin();
    EXPECT_FALSE(control_.is_in_script);
    now_ += Seconds(100).count();  // Of the step itself.
    trainer_->Begin();
    trainer_->EndStep(1, 2, 0);
    EXPECT_EQ(step.get()->paused, seconds > 10 ? Seconds(seconds) : Duration::zero()) << seconds;
  }
}

TEST_F(HostedTrainerTest, AStepMayDoWithoutSomeOfItsSamplesOrAll) {
  auto step = StartStep({{.epoch = 0, .begin = 0, .end = 3}});
  ASSERT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kStep);
  EXPECT_EQ(trainer_->samples(), 3U);
  Hand(0, {1, 2});
  Hand(1, {3, 4});
  trainer_->EndStep(0.5, 2, 1);
  const StatusOr<StepResult> some = step.get();
  EXPECT_EQ(some->samples, 3U);
  EXPECT_EQ(some->skipped, 1U);
  EXPECT_EQ(some->loss, 0.5);
  step = StartStep({{.epoch = 0, .begin = 3, .end = 5}});
  ASSERT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kStep);
  SetFloat(4, 7);  // A forward pass has touched a buffer, and is not to count.
  trainer_->EndStep(std::nan(""), 0, 0);
  const StatusOr<StepResult> none = step.get();
  EXPECT_EQ(none->samples, 2U);
  EXPECT_EQ(none->skipped, 2U);
  EXPECT_EQ(none->loss, 0) << "finite, or it would be a non-finite push";
  EXPECT_THAT(none->without_gradient, ElementsAre(0, 1));
  EXPECT_EQ(FloatAt(trainer_->push(), 4), 5) << "as the step began";
}

TEST_F(HostedTrainerTest, TheHostIsToldWhichSamplesAreExpectedNext) {
  const auto take = [&](uint64_t epoch, uint64_t begin) {
    auto step = StartStep({{.epoch = epoch, .begin = begin, .end = begin + 2}});
    ASSERT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kStep);
    trainer_->EndStep(1, 2, 0);
    ASSERT_TRUE(step.get().ok());
  };
  EXPECT_THAT(trainer_->Expect(1), SizeIs(0));
  for (const uint64_t begin : {0, 3, 6}) take(0, begin);
  EXPECT_THAT(trainer_->Expect(1), SizeIs(0)) << "seen twice, but not right twice";
  take(1, 0);  // Elsewhere: nothing is known then.
  EXPECT_THAT(trainer_->Expect(1), SizeIs(0));
  for (const uint64_t begin : {2, 4, 6}) take(1, begin);
  EpochOrder order(10, 3);
  EXPECT_THAT(trainer_->Expect(1), ElementsAre(order.Epoch(1)[8], order.Epoch(1)[9]));
  EXPECT_THAT(trainer_->Expect(2), ElementsAre(order.Epoch(2)[0], order.Epoch(2)[1]));
  EXPECT_THAT(trainer_->Expect(7), SizeIs(0)) << "behind the job's last epoch";
}

// With a sampler of the script's own.
class DrawnTest : public HostedTrainerTest {
 protected:
  DrawnTest() {
    trainer_.emplace(HostedTrainer::Options{.layout = SmallLayout(),
                                            .values = values_,
                                            .train_samples = 4,
                                            .epochs = 9,
                                            .seed = 3,
                                            .sampler = "WeightedRandomSampler"});
  }
  Status Drew(uint64_t epoch, std::vector<uint32_t> samples) {
    return trainer_->Drew(epoch, samples);
  }
};

TEST_F(DrawnTest, AnEpochIsWhatTheHostDrawsForItInThatOrder) {
  auto step = StartStep({{.epoch = 0, .begin = 2, .end = 4}, {.epoch = 1, .begin = 0, .end = 1}});
  HostedWork work = trainer_->Next(kLong);
  ASSERT_EQ(work.kind, HostedWork::Kind::kDraw);
  EXPECT_EQ(work.epoch, 0u);
  ASSERT_TRUE(Drew(0, {7, 7, 3, 90}).ok());
  work = trainer_->Next(kLong);
  ASSERT_EQ(work.kind, HostedWork::Kind::kDraw);
  EXPECT_EQ(work.epoch, 1u);
  ASSERT_TRUE(Drew(1, {5, 6, 7, 8}).ok());
  work = trainer_->Next(kLong);
  ASSERT_EQ(work.kind, HostedWork::Kind::kStep);
  EXPECT_THAT(work.samples, ElementsAre(3, 90, 5));
  trainer_->EndStep(1, 3, 0);
  EXPECT_TRUE(step.get().ok());
}

TEST_F(DrawnTest, AnEpochHasAsManySamplesEachTime) {
  EXPECT_EQ(Message(Drew(2, {1, 2, 3})),
            "the sampler WeightedRandomSampler drew 3 positions for epoch 2, want 4");
}

TEST_F(DrawnTest, WhatIsNotDrawnIsNotExpected) {
  ASSERT_TRUE(Drew(0, {10, 11, 12, 13}).ok());
  for (const uint64_t begin : {0, 1, 2, 3}) {
    auto step = StartStep({{.epoch = 0, .begin = begin, .end = begin + 1}});
    ASSERT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kStep);
    trainer_->EndStep(1, 1, 0);
    ASSERT_TRUE(step.get().ok());
  }
  EXPECT_THAT(trainer_->Expect(1), SizeIs(0));
  ASSERT_TRUE(Drew(1, {20, 21, 22, 23}).ok());
  EXPECT_THAT(trainer_->Expect(1), ElementsAre(20));
}

TEST_F(DrawnTest, AnOldEpochMayBeAskedForAgain) {
  for (const uint64_t epoch : {1, 2, 3, 4, 5, 0}) {
    ASSERT_TRUE(Drew(epoch, {1, 2, 3, 4}).ok());
    auto step = StartStep({{.epoch = epoch, .begin = 0, .end = 1}});
    ASSERT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kStep) << epoch;
    trainer_->EndStep(1, 1, 0);
    ASSERT_TRUE(step.get().ok());
  }
}

TEST_F(DrawnTest, AStepNotWantedAnyMoreIsNotDrawnFor) {
  auto step = StartStep({{.epoch = 0, .begin = 2, .end = 4}});
  ASSERT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kDraw);
  control_.is_wanted = false;
  EXPECT_EQ(trainer_->Next(Duration::zero()).kind, HostedWork::Kind::kNothing);
  EXPECT_EQ(step.get().status().code(), StatusCode::kCancelled);
}

TEST_F(HostedTrainerTest, PiecesAreEachByteOnceAndWhatIsMissingIsZero) {
  Pieces pieces;
  control_.begun = &pieces;
  auto step = StartStep({{.epoch = 0, .begin = 0, .end = 2}});
  ASSERT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kStep);
  Hand(1, {3, 4});
  trainer_->EndStep(1, 2, 0);
  const StatusOr<StepResult> result = step.get();
  ASSERT_TRUE(result->is_handed);
  EXPECT_THAT(result->without_gradient, ElementsAre(0));
  uint64_t expected = 0;
  for (const auto& [offset, part] : pieces.parts) {
    EXPECT_EQ(offset, expected);
    expected += part.size();
  }
  EXPECT_EQ(expected, trainer_->layout().total_bytes());
  EXPECT_THAT(pieces.parts.at(0), Each(std::byte(0)));
  EXPECT_EQ(FloatAt(pieces.parts.at(8), 1), 4);
}

TEST_F(HostedTrainerTest, AGradientOfTheStepBeforeIsNotTheNextOnes) {
  for (const bool hands : {true, false}) {
    auto step = StartStep({{.epoch = 0, .begin = 0, .end = 1}});
    ASSERT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kStep);
    if (hands) Hand(0, {7, 7});
    trainer_->EndStep(1, 1, 0);
    ASSERT_TRUE(step.get().ok());
    EXPECT_EQ(FloatAt(trainer_->push(), 0), hands ? 7 : 0);
  }
}

TEST_F(HostedTrainerTest, AGradientIsOfAParameterOnceAndAsLarge) {
  auto step = StartStep({{.epoch = 0, .begin = 0, .end = 1}});
  ASSERT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kStep);
  Hand(0, {1, 2});
  EXPECT_EQ(Message(Try(0, {1, 2})), "a second gradient of a in one step");
  EXPECT_EQ(Message(Try(1, {1})), "a gradient of 4 bytes of b, which has 8");
  EXPECT_EQ(Try(2, {1}).code(), StatusCode::kInvalidArgument) << "a buffer";
  EXPECT_EQ(Try(9, {1}).code(), StatusCode::kInvalidArgument);
  trainer_->EndStep(1, 1, 0);
  EXPECT_TRUE(step.get().ok());
}

TEST_F(HostedTrainerTest, AStepGivenUpLeavesBuffersAsTheyWere) {
  auto step = StartStep({{.epoch = 0, .begin = 0, .end = 2}});
  ASSERT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kStep);
  SetFloat(4, 99);
  control_.is_wanted = false;
  EXPECT_FALSE(trainer_->MayGoOn());
  trainer_->GiveUpStep(Cancelled("given up"));
  EXPECT_EQ(step.get().status().code(), StatusCode::kCancelled);
  EXPECT_EQ(FloatAt(values_, 4), 5);
}

TEST_F(HostedTrainerTest, AStepNotWantedAnyMoreIsNotHandedOut) {
  control_.is_wanted = false;
  auto step = StartStep({{.epoch = 0, .begin = 0, .end = 2}});
  EXPECT_EQ(trainer_->Next(std::chrono::milliseconds(200)).kind, HostedWork::Kind::kNothing);
  EXPECT_EQ(step.get().status().code(), StatusCode::kCancelled);
}

TEST_F(HostedTrainerTest, WhoWaitsForTheHostShowsNoProgress) {
  auto step = StartStep({{.epoch = 0, .begin = 0, .end = 2}});
  while (trainer_->Next(Duration::zero()).kind != HostedWork::Kind::kStep)
    std::this_thread::yield();
  const int before = control_.asked;
  trainer_->GiveUpStep(Cancelled("enough"));
  (void)step.get();
  EXPECT_EQ(control_.asked, before);
}

TEST_F(HostedTrainerTest, AClosedHostEndsTheStepThatNobodyTook) {
  auto step = StartStep({{.epoch = 0, .begin = 0, .end = 2}});
  trainer_->Close();
  EXPECT_EQ(step.get().status().code(), StatusCode::kCancelled);
}

// --- Versions that are shown.

// Three pages, parameters on two and a half.
store::Layout LargeLayout() {
  return *store::Layout::Create(
      {{.name = "w", .shape = {2560}},
       {.name = "mean", .shape = {512}, .kind = store::TensorKind::kBuffer}});
}

// A version of one number, over and over; its pages move by being copied.
struct FakePlace final : rpc::VersionPlace {
  explicit FakePlace(float value) : floats(3072, value) {}
  std::span<const std::byte> bytes() const override { return std::as_bytes(std::span(floats)); }
  std::span<std::byte> values() override { return {}; }
  Status MoveTo(std::byte* there, size_t size_bytes) override {
    moved_bytes = size_bytes;
    if (cannot) return ResourceExhausted("no");
    std::memcpy(there, floats.data(), size_bytes);
    return OkStatus();
  }
  void ComeBack() override { ++came_back; }
  std::vector<float> floats;
  size_t moved_bytes = 0;
  int came_back = 0;
  bool cannot = false;
};

struct Shown {
  std::shared_ptr<rpc::VersionWindow> window = *rpc::VersionWindow::Of(LargeLayout().total_bytes());
  HostedTrainer trainer{
      {.layout = LargeLayout(), .values = window->bytes(), .train_samples = 10, .window = window}};
  float At(size_t index) const { return FloatAt(window->bytes(), index); }
};

TEST_F(HostedTrainerTest, WithoutAWindowVersionsAreCopied) {
  EXPECT_FALSE(trainer_->computes_anywhere());
  EXPECT_FALSE(trainer_->ComputeOn(std::make_shared<FakePlace>(1)));
}

TEST(ShownVersionTest, WholePagesOfParametersAreShownAndTheRestIsCopied) {
  Shown f;
  const auto one = std::make_shared<FakePlace>(1), two = std::make_shared<FakePlace>(2);
  EXPECT_TRUE(f.trainer.computes_anywhere());
  ASSERT_TRUE(f.trainer.ComputeOn(one));
  EXPECT_EQ(one->moved_bytes, 8192u);
  for (const size_t at : {0, 2047, 2048, 2559, 2560, 3071}) EXPECT_EQ(f.At(at), 1) << at;
  ASSERT_TRUE(f.trainer.ComputeOn(two));
  EXPECT_EQ(one->came_back, 1);
  for (const size_t at : {0, 2047, 2048, 2559, 2560, 3071}) EXPECT_EQ(f.At(at), 2) << at;
  two->floats[0] = 3;
  EXPECT_TRUE(f.trainer.ComputeOn(nullptr));
  EXPECT_EQ(two->came_back, 1);
  EXPECT_EQ(f.At(0), 2);
}

TEST(ShownVersionTest, WhatCannotBeShownIsSaidAndNotAskedForAgain) {
  Shown f;
  const auto place = std::make_shared<FakePlace>(1);
  place->cannot = true;
  EXPECT_FALSE(f.trainer.ComputeOn(place));
  EXPECT_FALSE(f.trainer.computes_anywhere());
}

TEST_F(HostedTrainerTest, SaysThatItIsOver) {
  EXPECT_EQ(trainer_->Next(Duration::zero()).kind, HostedWork::Kind::kNothing);
  trainer_->Over();
  EXPECT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kOver);
}

TEST_F(HostedTrainerTest, BeginsAnewWithTheFirstValues) {
  SetFloat(0, 42);
  ASSERT_TRUE(trainer_->BeginAnew().ok());
  EXPECT_EQ(FloatAt(values_, 0), 0);
  EXPECT_EQ(FloatAt(values_, 4), 5);
}

TEST_F(HostedTrainerTest, PositionsBeyondTheSetAreRefused) {
  const std::vector<protocol::SampleRange> beyond = {{.epoch = 0, .begin = 5, .end = 11}};
  EXPECT_EQ(trainer_->Step(beyond, control_).status().code(), StatusCode::kOutOfRange);
}

TEST_F(HostedTrainerTest, TheHostEvaluates) {
  std::atomic<int> progress = 0;
  auto evaluation = std::async(std::launch::async,
                               [&] { return trainer_->Evaluate([&progress] { ++progress; }); });
  ASSERT_EQ(trainer_->Next(kLong).kind, HostedWork::Kind::kEvaluate);
  EXPECT_TRUE(trainer_->MayGoOn());
  trainer_->EndEvaluation(Evaluation{.loss = 2, .accuracy = 0.5, .samples = 7});
  const StatusOr<Evaluation> result = evaluation.get();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->accuracy, 0.5);
  EXPECT_EQ(progress, 1);
}

}  // namespace
}  // namespace paceline::worker
