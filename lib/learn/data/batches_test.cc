#include "lib/learn/data/batches.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/learn/testing/trainings.h"
#include "lib/learn/training.h"

namespace paceline::learn {
namespace {

using testing::Make;
using testing::TestFolder;
using Samples = std::vector<uint32_t>;

// What the carrier of a device would do, and on which threads.
struct Seen {
  std::mutex mutex;
  std::condition_variable changed;
  int carried = 0;
  int awaited = 0;
  int to_fail = 0;  // Of the next ones on other threads than the test's.
  bool is_held = false;
  bool was_carried_elsewhere = false;
  bool was_awaited_elsewhere = false;
  const std::thread::id test = std::this_thread::get_id();

  bool IsElsewhere() const { return std::this_thread::get_id() != test; }
  void AwaitCarried(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return carried >= count; });
  }
  void Hold(bool is) {
    std::lock_guard lock(mutex);
    is_held = is;
    changed.notify_all();
  }
};

class FakeCarrier : public BatchCarrier {
 public:
  explicit FakeCarrier(Seen* seen) : seen_(seen) {}
  bool wants_pinned() const override { return false; }
  std::unique_ptr<Arrival> Carry(Batch&) override {
    std::unique_lock lock(seen_->mutex);
    ++seen_->carried;
    seen_->changed.notify_all();
    if (seen_->IsElsewhere()) {
      seen_->was_carried_elsewhere = true;
      seen_->changed.wait(lock, [&] { return !seen_->is_held; });
      if (seen_->to_fail > 0) {
        --seen_->to_fail;
        throw std::bad_alloc();
      }
    }
    return std::make_unique<FakeArrival>(seen_);
  }

 private:
  class FakeArrival : public Arrival {
   public:
    explicit FakeArrival(Seen* seen) : seen_(seen) {}
    void Await(const Batch&) override {
      std::lock_guard lock(seen_->mutex);
      ++seen_->awaited;
      if (seen_->IsElsewhere()) seen_->was_awaited_elsewhere = true;
    }

   private:
    Seen* const seen_;
  };

  Seen* const seen_;
};

struct Fixture {
  TestFolder folder;
  Dataset data = *Dataset::Open({.path = testing::Small(folder)});
  Seen seen;
  Batches batches;
  explicit Fixture(size_t ahead = 2)
      : batches(&data, ahead, std::make_unique<FakeCarrier>(&seen)) {}

  void ExpectTaken(const Samples& samples) {
    const Batch got = batches.Take(samples);
    const Batch want = GatherBatch(data, samples, at::kCPU);
    ASSERT_EQ(got.inputs.size(), 1u);
    EXPECT_TRUE(got.inputs[0].equal(want.inputs[0]));
    EXPECT_TRUE(got.targets.equal(want.targets));
  }
};

TEST(BatchesTest, WhatWasExpectedIsThere) {
  Fixture f;
  f.batches.Expect({{3, 1}, {5, 0, 2}});
  f.seen.AwaitCarried(2);
  f.ExpectTaken({3, 1});
  f.ExpectTaken({5, 0, 2});
  EXPECT_EQ(f.batches.counts(), (DataCounts{.expected = 2, .ready = 2}));
  // Brought by the thread, waited for by whom it is for.
  EXPECT_TRUE(f.seen.was_carried_elsewhere);
  EXPECT_FALSE(f.seen.was_awaited_elsewhere);
  EXPECT_EQ(f.seen.awaited, 2);
}

TEST(BatchesTest, WhatIsInWorkIsWaitedFor) {
  Fixture f;
  f.seen.Hold(true);
  f.batches.Expect({{3, 1}});
  f.seen.AwaitCarried(1);
  std::thread later([&] { f.seen.Hold(false); });
  f.ExpectTaken({3, 1});
  later.join();
  EXPECT_EQ(f.batches.counts(), (DataCounts{.expected = 1, .ready = 1}));
}

TEST(BatchesTest, WhatWasNotExpectedIsGatheredAndAWrongGuessForgotten) {
  Fixture f;
  f.ExpectTaken({1, 2});
  f.batches.Expect({{3, 1}, {4}});
  f.seen.AwaitCarried(3);
  f.ExpectTaken({6});
  f.batches.Expect({{4}});
  f.ExpectTaken({4});
  EXPECT_EQ(f.batches.counts().gathered, 2u);
  EXPECT_EQ(f.batches.counts().ready, 1u);
  EXPECT_EQ(f.batches.counts().in_vain, 1u);
}

TEST(BatchesTest, WhatIsExpectedAgainIsNotGatheredAgain) {
  Fixture f;
  f.batches.Expect({{1}, {2}});
  f.seen.AwaitCarried(2);
  f.ExpectTaken({1});
  f.batches.Expect({{2}, {3}});
  f.seen.AwaitCarried(3);
  f.ExpectTaken({2});
  f.ExpectTaken({3});
  EXPECT_EQ(f.seen.carried, 3);
  EXPECT_EQ(f.batches.counts(), (DataCounts{.expected = 3, .ready = 3}));
}

TEST(BatchesTest, SkipsWhatDoesNotCome) {
  Fixture f;
  f.batches.Expect({{1}, {2}});
  f.seen.AwaitCarried(2);
  f.ExpectTaken({2});
  EXPECT_EQ(f.batches.counts(), (DataCounts{.expected = 1, .ready = 1, .in_vain = 1}));
}

TEST(BatchesTest, IsAheadByNoMoreThanItMay) {
  Fixture f(/*ahead=*/2);
  f.batches.Expect({{0}, {1}, {2}, {3}, {4}});
  for (int taken = 0; taken < 5; ++taken) {
    f.seen.AwaitCarried(std::min(taken + 2, 5));
    {
      std::lock_guard lock(f.seen.mutex);
      EXPECT_LE(f.seen.carried, taken + 2);
    }
    f.ExpectTaken({static_cast<uint32_t>(taken)});
  }
  Fixture none(/*ahead=*/0);
  none.batches.Expect({{0}});
  none.ExpectTaken({0});
  EXPECT_EQ(none.batches.counts(), (DataCounts{.gathered = 1}));
  EXPECT_FALSE(none.seen.was_carried_elsewhere);
}

TEST(BatchesTest, WhatCannotBePreparedIsGatheredByWhoNeedsIt) {
  Fixture f;
  f.seen.to_fail = 1;
  f.batches.Expect({{1}, {2}});
  f.seen.AwaitCarried(2);
  f.ExpectTaken({1});
  f.ExpectTaken({2});
  EXPECT_EQ(f.batches.counts(), (DataCounts{.expected = 2, .ready = 1, .gathered = 1}));
}

TEST(BatchesTest, EndsWithWorkLeft) {
  Fixture f;
  f.batches.Expect({{1}, {2}, {3}});
}

// Forty samples of 8 KiB each.
TrainingOptions Wide(const TestFolder& folder, uint64_t micro_batch_size) {
  std::vector<float> inputs(size_t{40} * 2048);
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = std::sin(static_cast<float>(i));
  std::vector<int64_t> targets(40);
  for (size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<int64_t>(i % 3);
  return {
      .built_in = BuiltIn{.kind = BuiltInKind::kSoftmax},
      .loss = "CrossEntropy",
      .train = {.path = folder.Write("wide.safetensors",
                                     testing::Samples({40, 2048}, inputs, targets))},
      .seed = 3,
      .micro_batch_size = micro_batch_size,
  };
}

// Whatever was guessed: the samples of the ranges count.
TEST(BatchesTest, StepsAreTheSameWhateverWasPrepared) {
  for (const uint64_t micro_batch_size : {0, 10}) {
    const TestFolder folder;
    TrainingOptions options = Wide(folder, micro_batch_size);
    const auto plain = Make(options);
    options.prefetch_batches = 2;
    const auto ahead = Make(options);
    const std::vector<SampleRange> steps[] = {
        {{0, 0, 20}}, {{0, 20, 40}}, {{1, 0, 20}}, {{1, 20, 40}},
        {{2, 0, 20}}, {{2, 0, 20}},  {{1, 5, 25}}, {{2, 20, 40}, {3, 0, 8}}};
    for (const auto& ranges : steps) {
      const auto want = plain->Step(ranges), got = ahead->Step(ranges);
      ASSERT_TRUE(want.ok() && got.ok());
      EXPECT_EQ(got->loss, want->loss);
      EXPECT_EQ(got->correct, want->correct);
      EXPECT_EQ(std::vector(ahead->push().begin(), ahead->push().end()),
                std::vector(plain->push().begin(), plain->push().end()));
    }
    // The fifth step's first batch, and of each step all but the first.
    EXPECT_EQ(ahead->data_counts().expected, micro_batch_size == 0 ? 1u : 1u + 7 + 2);
    EXPECT_EQ(plain->data_counts().expected, 0u);
  }
}

}  // namespace
}  // namespace paceline::learn
