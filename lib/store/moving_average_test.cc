#include "lib/store/moving_average.h"

#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/store/kernels.h"
#include "lib/store/recordings_testing.h"
#include "lib/store/shard_testing.h"

namespace paceline::store {
namespace {

using testing::Deliver;
using testing::Filled;
using testing::FloatAt;
using ::testing::HasSubstr;
using testing::IntegerAt;
using testing::OpenShard;
using testing::Push;
using testing::ReadRecordings;
using testing::RecordedStep;
using testing::Recording;
using testing::SmallLayout;
using testing::WholeOf;

std::vector<float> FloatsOf(std::span<const std::byte> bytes, size_t count) {
  const auto view = View<float>(bytes, 0, count * sizeof(float));
  return {view.begin(), view.end()};
}

// The bits, so that zeros of both signs differ.
std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

Shard::Options Averaging(const Layout& layout, double decay) {
  Shard::Options options = WholeOf(layout);
  options.average_decay = decay;
  return options;
}

// A commit of one push of `values`, whose order is otherwise `order`.
void CommitOne(Shard& shard, const std::vector<std::byte>& values, CommitOrder order) {
  const PushId id = Push(0, order.version.value());
  ASSERT_TRUE(Deliver(shard, id, values).ok());
  ASSERT_EQ(shard.Accumulate(id, 1), OkStatus());
  const auto committed = shard.Commit(order);
  ASSERT_TRUE(committed.ok()) << committed.status();
}

std::vector<float> AverageOfNewest(const Shard& shard, size_t count) {
  const auto average = shard.AverageOf(*shard.Newest());
  EXPECT_TRUE(average.ok()) << average.status();
  return FloatsOf((*average)->bytes(), count);
}

std::vector<std::byte> BytesOf(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(MovingAverageTest, AgreesWithPyTorchsAveragedModel) {
  const std::vector<Recording> recordings = ReadRecordings("averages.txt");
  ASSERT_EQ(recordings.size(), 4u);
  double most = 0;
  for (const Recording& recording : recordings) {
    const size_t size = recording.initial.size();
    const Layout layout = Layout::Create({{"w", {static_cast<int64_t>(size)}}}).value();
    Shard::Options options = Averaging(layout, recording.options.at("decay"));
    options.optimizer = optim::SgdOptions{.momentum = recording.options.at("momentum")};
    const auto shard = OpenShard(options, BytesOf(recording.initial));
    EXPECT_EQ(AverageOfNewest(*shard, size), recording.initial);
    ASSERT_EQ(recording.steps.size(), 20u);
    Version version;
    for (const RecordedStep& step : recording.steps) {
      version = version.Next();
      CommitOne(*shard, BytesOf(step.gradient), {.version = version, .learning_rate = step.rate});
      const std::vector<float> average = AverageOfNewest(*shard, size);
      for (size_t i = 0; i < size; ++i) {
        const double error = std::abs(average[i] - step.average[i]);
        most = std::max(most, error / (1e-3 + std::abs(step.average[i])));
        ASSERT_NEAR(average[i], step.average[i], 1e-6 + 2e-6 * std::abs(step.average[i]))
            << recording.name << " " << version.value() << " " << i;
      }
    }
  }
  RecordProperty("largest_relative_error", std::to_string(most));
}

// Over many blocks, gradients and deltas of both kinds among them: the bits of a plain loop, and
// not one bit less of the parameters.
TEST(MovingAverageTest, IsALoopOverVersionsBitByBitAndChangesNoneOfThem) {
  constexpr size_t kSize = 40'001;
  const Layout layout = Layout::Create({{"w", {kSize}}}).value();
  for (const double decay : {0.999, 0.25}) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    const auto draw = [&] {
      std::vector<float> values(kSize);
      for (float& value : values) value = normal(random);
      return values;
    };
    const std::vector<std::byte> initial = BytesOf(draw());
    Shard::Options options = Averaging(layout, decay);
    options.optimizer = optim::AdamWOptions{};
    const auto shard = OpenShard(options, initial);
    options.average_decay.reset();
    const auto plain = OpenShard(options, initial);
    std::vector<float> want;
    const float share = static_cast<float>(1 - decay);
    for (uint64_t step = 1; step <= 9; ++step) {
      const std::vector<std::byte> push = BytesOf(draw());
      CommitOrder order{.version = Version(step), .learning_rate = 0.05};
      order.is_pinned = step % 2 == 0;
      if (step % 3 == 0) order.kind = PushKind::kDelta;
      if (step == 6) order.outer = OuterStep{.learning_rate = 0.7, .momentum = 0.5};
      CommitOne(*shard, push, order);
      CommitOne(*plain, push, order);
      const std::vector<float> now = FloatsOf(shard->Newest()->bytes(), kSize);
      EXPECT_EQ(Bits(now), Bits(FloatsOf(plain->Newest()->bytes(), kSize))) << step;
      if (step == 1) want = now;
      for (size_t i = 0; i < kSize && step > 1; ++i) {
        volatile float product =  // Volatile: never fused with what follows.
            share < 0.5f ? share * (now[i] - want[i]) : (now[i] - want[i]) * (1 - share);
        want[i] = share < 0.5f ? want[i] + product : now[i] - product;
      }
      ASSERT_EQ(Bits(AverageOfNewest(*shard, kSize)), Bits(want)) << decay << " " << step;
    }
  }
}

// Restored from a checkpoint of version 2, with `updates` before it.
TEST(MovingAverageTest, GoesOnFromWhatWasRestored) {
  const Layout layout = SmallLayout();
  for (const uint64_t updates : {0, 2}) {
    const auto shard = Shard::Create(Averaging(layout, 0.5)).value();
    std::ranges::copy(Filled(layout, 4, 0), shard->initial_values().begin());
    std::ranges::fill(shard->average()->values(), 2.0f);
    shard->average()->Restore(updates);
    ASSERT_EQ(shard->Open(Version(2)), OkStatus());
    EXPECT_EQ(AverageOfNewest(*shard, 1)[0], 2);
    CommitOne(*shard, Filled(layout, 4, 0), {.version = Version(3), .learning_rate = -1});
    EXPECT_EQ(AverageOfNewest(*shard, 1)[0], updates == 0 ? 8 : 5);
    EXPECT_EQ(shard->average()->updates(), updates + 1);
  }
}

TEST(MovingAverageTest, BuffersAreTheVersionsOwn) {
  const Layout layout = SmallLayout();
  const auto shard = OpenShard(Averaging(layout, 0.5), Filled(layout, 0, 3));
  for (const bool is_pinned : {false, true}) {
    const uint64_t version = is_pinned ? 2 : 1;
    CommitOne(*shard, Filled(layout, 8, 40 + static_cast<int64_t>(version)),
              {.version = Version(version), .learning_rate = -1, .is_pinned = is_pinned});
    const auto average = shard->AverageOf(*shard->Newest()).value();
    EXPECT_EQ(average->version, Version(version));
    EXPECT_EQ(FloatAt(average->bytes(), 0), version == 1 ? 8 : 12);  // Of 8 and 16.
    const uint64_t at = layout.parameter_bytes();
    EXPECT_EQ(FloatAt(average->bytes(), at), 8);
    EXPECT_EQ(IntegerAt(average->bytes(), layout.integer_begin_bytes()), 40 + version);
  }
}

// As a checkpoint gives them back: an earlier version, or the first one itself.
TEST(MovingAverageTest, AKeptVersionIsThereFromTheStartAsItWasUntilItIsUnpinned) {
  for (const bool has_average : {false, true}) {
    for (const uint64_t kept : {3, 7}) {
      const Layout layout = SmallLayout();
      auto shard = Shard::Create(has_average ? Averaging(layout, 0.5) : WholeOf(layout)).value();
      std::ranges::copy(Filled(layout, 1, 0), shard->initial_values().begin());
      std::ranges::copy(Filled(layout, 5, 9), shard->NewKept(Version(kept)).begin());
      ASSERT_EQ(shard->Open(Version(7)), OkStatus());
      EXPECT_EQ(FloatAt(shard->Newest()->bytes(), 0), 1);
      for (uint64_t version = 8; version < 12; ++version)
        CommitOne(*shard, Filled(layout, 2, 0), {.version = Version(version), .learning_rate = -1});
      const auto read = [&]() -> StatusOr<std::shared_ptr<const Published>> {
        PACELINE_ASSIGN_OR_RETURN(const auto version, shard->Get(Version(kept)));
        return has_average ? shard->AverageOf(*version) : version;
      };
      auto there = read();
      ASSERT_TRUE(there.ok()) << there.status();
      // Of the first one without an average its own values are what was kept.
      const bool is_first = kept == 7 && !has_average;
      EXPECT_EQ(FloatAt((*there)->bytes(), 0), is_first ? 1 : 5);
      EXPECT_EQ(IntegerAt((*there)->bytes(), layout.integer_begin_bytes()), is_first ? 0 : 9);
      there->reset();
      shard->Unpin(Version(kept));
      EXPECT_EQ(shard->Get(Version(kept)).status().code(), StatusCode::kNotFound);
    }
  }
}

TEST(MovingAverageTest, AKeptVersionIsNoNewerThanTheFirst) {
  auto shard = Shard::Create(WholeOf(SmallLayout())).value();
  shard->NewKept(Version(8));
  EXPECT_THAT(Message(shard->Open(Version(7))), HasSubstr("kept v8 is newer than the first one"));
}

TEST(MovingAverageTest, IsThereForPinnedVersionsUntilTheyAreUnpinnedAndForTheNewest) {
  const Layout layout = SmallLayout();
  const auto shard = OpenShard(Averaging(layout, 0.5), Filled(layout, 0, 0));
  std::vector<std::shared_ptr<const Published>> versions = {shard->Newest()};
  for (uint64_t version = 1; version <= 4; ++version) {
    CommitOne(*shard, Filled(layout, 1, 0),
              {.version = Version(version), .learning_rate = -1, .is_pinned = version == 2});
    versions.push_back(shard->Newest());
    EXPECT_TRUE(shard->AverageOf(*versions.back()).ok());
  }
  // Of 1, then 1.5, then 2.25.
  EXPECT_EQ(FloatAt(shard->AverageOf(*versions[2]).value()->bytes(), 0), 1.5);
  for (const uint64_t gone : {0, 1, 3}) {
    const auto average = shard->AverageOf(*versions[gone]);
    EXPECT_EQ(average.status().code(), StatusCode::kNotFound) << gone;
    EXPECT_THAT(Message(average.status()), HasSubstr("newest v4"));
  }
  const auto held = shard->AverageOf(*versions[2]).value();
  shard->Unpin(Version(2));
  EXPECT_FALSE(shard->AverageOf(*versions[2]).ok());
  CommitOne(*shard, Filled(layout, 1, 0), {.version = Version(5), .learning_rate = -1});
  EXPECT_EQ(FloatAt(held->bytes(), 0), 1.5);  // For as long as somebody reads it.
}

// Whoever asks for the newest meanwhile gets none that is half of the version before.
TEST(MovingAverageTest, ACommitHoldsOthersOffUntilItIsPublished) {
  const Layout layout = SmallLayout();
  const SliceParts parts = PartsOf(layout);
  const auto room = [&] {
    return std::make_shared<Published>(Region::Private(layout.total_bytes()));
  };
  MovingAverage average(0.5, parts, room);
  const auto first = room();
  average.Start(*first);
  const std::vector<float> block(5, 1.0f);
  std::atomic<bool> is_published = false, was_published = false;
  StatusCode code = StatusCode::kUnknown;
  auto lock = average.Begin(Version(1), false);
  ASSERT_TRUE(lock.owns_lock());
  std::thread reader([&] {
    code = average.Of(*first).status().code();
    was_published = is_published.load();
  });
  average.Take(0, block);
  average.End(first->bytes());
  is_published = true;
  lock.unlock();
  reader.join();
  EXPECT_TRUE(was_published);
  EXPECT_EQ(code, StatusCode::kNotFound);  // Superseded by then.
}

// Two ask for the newest version's: it is made once.
TEST(MovingAverageTest, OfOneVersionThereIsOne) {
  const Layout layout = SmallLayout();
  const auto shard = OpenShard(Averaging(layout, 0.9), Filled(layout, 2, 0));
  EXPECT_EQ(shard->AverageOf(*shard->Newest()).value(), shard->AverageOf(*shard->Newest()).value());
}

TEST(MovingAverageTest, DecayMustBeBetweenZeroAndOne) {
  for (const double decay : {0.0, 1.0, -0.5, 1.5, std::nan("")}) {
    const auto shard = Shard::Create(Averaging(SmallLayout(), decay));
    ASSERT_FALSE(shard.ok()) << decay;
    EXPECT_THAT(Message(shard.status()), HasSubstr("must be more than 0 and less than 1"));
  }
}

TEST(MovingAverageTest, AShardWithoutOneSaysSo) {
  const Layout layout = SmallLayout();
  const auto shard = OpenShard(WholeOf(layout), Filled(layout, 1, 0));
  EXPECT_EQ(shard->average(), nullptr);
  const auto average = shard->AverageOf(*shard->Newest());
  EXPECT_EQ(average.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(average.status()), HasSubstr("spec.training.ema"));
}

}  // namespace
}  // namespace paceline::store
