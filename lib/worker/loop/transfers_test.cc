#include "lib/worker/loop/transfers.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/rpc/bulk/in_process_parameter_client.h"
#include "lib/rpc/bulk/retrying_parameter_client.h"
#include "lib/store/shard.h"

namespace paceline::worker {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr size_t kParameters = 1 << 18;  // Large enough for a slice on each shard.

// Two real shards, which tests let publish at different paces. Each version's parameters are its
// number: a pull that mixes versions shows.
struct Fixture {
  store::Layout layout =
      *store::Layout::Create({{.name = "weight", .shape = {int64_t{kParameters}}}});
  std::vector<std::shared_ptr<store::Shard>> shards;
  std::vector<uint64_t> newest;
  std::vector<float> values = std::vector<float>(kParameters);
  // Instead of sleeping before a call is repeated.
  std::function<void()> meanwhile = [] { FAIL() << "nobody should wait"; };
  std::unique_ptr<Transfers> transfers;

  Fixture() {
    const std::vector<store::Slice> slices = store::SliceOverShards(layout, 2);
    for (const store::Slice& slice : slices) {
      EXPECT_GT(slice.size_bytes(), 0);
      shards.push_back(*store::Shard::Create(
          {.layout = layout, .slice = slice, .optimizer = optim::SgdOptions{}}));
      EXPECT_TRUE(shards.back()->Open().ok());
    }
    newest.resize(shards.size());
    Begin(std::make_unique<rpc::InProcessParameterClient>(shards));
  }
  void Begin(std::unique_ptr<rpc::ParameterClient> client) {
    transfers = std::make_unique<Transfers>(
        WorkerId(0), protocol::Admitted{.incarnation = Incarnation(1)},
        std::make_unique<rpc::RetryingParameterClient>(std::move(client), rpc::RetryPolicy{},
                                                       [this](Duration) { meanwhile(); }));
  }
  // Adds 1 to each of the shard's parameters, until that version.
  void Publish(size_t shard, uint64_t version) {
    while (newest[shard] < version) {
      const store::PushId id{WorkerId(1), Incarnation(1), Sequence(++newest[shard])};
      store::Shard& one = *shards[shard];
      const auto staging = one.Stage(id);
      ASSERT_TRUE(staging.ok()) << Message(staging.status());
      auto* const floats = reinterpret_cast<float*>(staging->bytes.data());
      std::fill_n(floats, staging->bytes.size() / sizeof(float), -1.0f);
      ASSERT_TRUE(one.Seal(id, staging->ticket).ok());
      ASSERT_TRUE(one.Accumulate(id, 1).ok());
      ASSERT_TRUE(one.Commit({.version = Version(newest[shard]), .learning_rate = 1}).ok());
    }
  }
  StatusOr<Version> Pull(uint64_t version) {
    return transfers->Pull(Version(version), sync::Exactness::kExact,
                           std::as_writable_bytes(std::span(values)));
  }
  void ExpectPulled(const StatusOr<Version>& pulled, uint64_t version) {
    ASSERT_TRUE(pulled.ok()) << Message(pulled.status());
    EXPECT_EQ(*pulled, Version(version));
    EXPECT_THAT(values, Each(static_cast<float>(version)));
  }
};

TEST(Transfers, PullTheVersionAskedForWhereAllHaveIt) {
  Fixture f;
  f.Publish(0, 3);
  f.Publish(1, 4);
  f.ExpectPulled(f.Pull(3), 3);
}

TEST(Transfers, TellOfTheirBytesWithThePushAfterThem) {
  Fixture f;
  const uint64_t bytes = f.layout.total_bytes();
  f.ExpectPulled(f.Pull(0), 0);
  f.Publish(0, 1);
  f.Publish(1, 1);
  f.ExpectPulled(f.Pull(1), 1);
  const Tally tally{.steps = 1, .samples = 1, .leases = {protocol::LeaseId(1)}};
  const auto push = [&] {
    return f.transfers->Push(PushKind::kGradient, std::as_bytes(std::span(f.values)), tally,
                             Version(1));
  };
  const auto first = push();
  ASSERT_TRUE(first.ok()) << Message(first.status());
  EXPECT_EQ(first->traffic.pushed_bytes, bytes);
  EXPECT_EQ(first->traffic.pulled_bytes, 2 * bytes);
  for (const auto& shard : f.shards) shard->Drop({WorkerId(0), Incarnation(1), Sequence(1)});
  const auto second = push();
  ASSERT_TRUE(second.ok()) << Message(second.status());
  EXPECT_EQ(second->traffic.pushed_bytes, bytes);
  EXPECT_EQ(second->traffic.pulled_bytes, 0);
}

TEST(Transfers, TellWhatNoStepOfAPushHadAGradientOf) {
  Tally tally;
  tally.Add({.samples = 1, .without_gradient = {1, 2, 5}}, protocol::LeaseId(1));
  EXPECT_EQ(tally.without_gradient, (std::vector<uint32_t>{1, 2, 5}));
  tally.Add({.samples = 1, .without_gradient = {0, 2, 5}}, protocol::LeaseId(2));
  Fixture f;
  f.ExpectPulled(f.Pull(0), 0);
  const auto done =
      f.transfers->Push(PushKind::kDelta, std::as_bytes(std::span(f.values)), tally, Version(0));
  ASSERT_TRUE(done.ok()) << Message(done.status());
  EXPECT_EQ(done->without_gradient, (std::vector<uint32_t>{2, 5}));
  tally.Add({.samples = 1}, protocol::LeaseId(3));
  EXPECT_TRUE(tally.without_gradient.empty());
}

TEST(Transfers, TellWhatStepsDidWithout) {
  Tally tally;
  tally.Add({.loss = 0, .samples = 4, .skipped = 4}, protocol::LeaseId(1));
  EXPECT_EQ(tally.loss, 0);
  tally.Add({.loss = 3, .samples = 4, .skipped = 2}, protocol::LeaseId(2));
  tally.Add({.loss = 6, .samples = 1}, protocol::LeaseId(3));
  EXPECT_EQ(tally.loss, 4) << "over the three that count";
  Fixture f;
  f.ExpectPulled(f.Pull(0), 0);
  const auto done =
      f.transfers->Push(PushKind::kDelta, std::as_bytes(std::span(f.values)), tally, Version(0));
  ASSERT_TRUE(done.ok()) << Message(done.status());
  EXPECT_EQ(done->samples, 9u);
  EXPECT_EQ(done->skipped, 6u);
}

// Says that half of the bytes of gradients and versions travel.
class Halving final : public rpc::InProcessParameterClient {
 public:
  using InProcessParameterClient::InProcessParameterClient;
  StatusOr<rpc::PushReport> Push(const store::PushId& push, std::span<const std::byte> payload,
                                 std::shared_ptr<const void> owner) override {
    auto report = InProcessParameterClient::Push(push, payload, std::move(owner));
    if (report.ok()) report->wire_bytes = payload.size() / 2;
    return report;
  }
  StatusOr<rpc::PushReport> PushExactly(const store::PushId& push,
                                        std::span<const std::byte> payload,
                                        std::shared_ptr<const void> owner) override {
    return InProcessParameterClient::Push(push, payload, std::move(owner));
  }
  StatusOr<rpc::PullReport> PullNamed(Version version, sync::Exactness exactness,
                                      std::span<std::byte> into,
                                      const rpc::OnNamed& on_named) override {
    auto report = InProcessParameterClient::PullNamed(version, exactness, into, on_named);
    if (report.ok()) report->wire_bytes = into.size() / 2;
    return report;
  }
};

TEST(Transfers, TellWhatTravelledOfThemAndPushDeltasExactly) {
  for (const PushKind kind : {PushKind::kGradient, PushKind::kDelta}) {
    Fixture f;
    f.Begin(std::make_unique<Halving>(f.shards));
    const uint64_t bytes = f.layout.total_bytes();
    f.ExpectPulled(f.Pull(0), 0);
    const auto done =
        f.transfers->Push(kind, std::as_bytes(std::span(f.values)),
                          {.steps = 1, .samples = 1, .leases = {protocol::LeaseId(1)}}, Version(0));
    ASSERT_TRUE(done.ok()) << Message(done.status());
    EXPECT_EQ(done->traffic.pulled_bytes, bytes / 2);
    EXPECT_EQ(done->traffic.pushed_bytes, kind == PushKind::kDelta ? bytes : bytes / 2);
  }
}

TEST(Transfers, TakeTheNewestWhereAllAreBeyondWhatWasAskedFor) {
  Fixture f;
  f.Publish(0, 4);
  f.Publish(1, 4);
  f.ExpectPulled(f.Pull(1), 4);
}

// Shards keep two versions: the oldest of their newest is on all of them.
TEST(Transfers, TakeTheOldestOfTheShardsNewest) {
  Fixture f;
  f.Publish(0, 4);
  f.Publish(1, 5);
  f.ExpectPulled(f.Pull(1), 4);
}

// One shard still holds what was asked for, the other has gone on beyond all that the first has.
TEST(Transfers, WaitForAShardThatIsBehindRatherThanMixVersions) {
  Fixture f;
  f.Publish(0, 2);
  f.Publish(1, 5);
  int waits = 0;
  f.meanwhile = [&] { f.Publish(0, 2 + ++waits); };
  f.ExpectPulled(f.Pull(2), 4);
  EXPECT_EQ(waits, 2);
}

TEST(Transfers, PreferWhatTheCoordinatorAnnounced) {
  Fixture f;
  f.Publish(0, 4);
  f.Publish(1, 5);
  f.transfers->Announce(Version(5));
  f.meanwhile = [&] { f.Publish(0, 5); };
  f.ExpectPulled(f.Pull(1), 5);
}

// Two versions more with each pull: none can be had.
class Racing : public rpc::ParameterClient {
 public:
  Racing(Fixture* f, std::unique_ptr<rpc::ParameterClient> client)
      : f_(f), client_(std::move(client)) {}
  Status Fill(WorkerId, Incarnation, std::span<const std::byte>,
              std::shared_ptr<const void>) override {
    return FailedPrecondition("not asked");
  }
  StatusOr<rpc::PushReport> Push(const store::PushId&, std::span<const std::byte>,
                                 std::shared_ptr<const void>) override {
    return FailedPrecondition("not asked");
  }
  StatusOr<rpc::PullReport> PullNamed(Version version, sync::Exactness exactness,
                                      std::span<std::byte> into,
                                      const rpc::OnNamed& on_named) override {
    asked.push_back(version);
    for (size_t shard = 0; shard < 2; ++shard) f_->Publish(shard, f_->newest[shard] + 2);
    return client_->PullNamed(version, exactness, into, on_named);
  }

  std::vector<Version> asked;

 private:
  Fixture* f_;
  std::unique_ptr<rpc::ParameterClient> client_;
};

TEST(Transfers, GiveUpAfterABoundedNumberOfVersions) {
  Fixture f;
  auto racing =
      std::make_unique<Racing>(&f, std::make_unique<rpc::InProcessParameterClient>(f.shards));
  const Racing& seen = *racing;
  f.Begin(std::move(racing));
  const StatusOr<Version> pulled = f.Pull(0);
  EXPECT_EQ(pulled.status().code(), StatusCode::kAborted);
  EXPECT_THAT(Message(pulled.status()), HasSubstr("superseded 10 times"));
  EXPECT_THAT(seen.asked, SizeIs(10));
}

}  // namespace
}  // namespace paceline::worker
