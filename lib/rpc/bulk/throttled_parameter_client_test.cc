#include "lib/rpc/bulk/throttled_parameter_client.h"

#include <array>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::rpc {
namespace {

// Each call takes `takes` of the test's clock.
struct World {
  Time now{};
  Duration takes = Seconds(0.25);
  std::vector<Duration> slept;
  Status status;
  PullReport pulled;
  std::optional<uint64_t> wire_bytes;  // Of pushes.
  bool takes_pieces = true;
};

class Wire final : public ParameterClient {
 public:
  explicit Wire(World* world) : world_(world) {}
  Status Fill(WorkerId, Incarnation, std::span<const std::byte>,
              std::shared_ptr<const void>) override {
    world_->now += world_->takes;
    return world_->status;
  }
  StatusOr<PushReport> Push(const store::PushId&, std::span<const std::byte>,
                            std::shared_ptr<const void>) override {
    world_->now += world_->takes;
    if (!world_->status.ok()) return world_->status;
    return PushReport{.squared_norm = 3, .wire_bytes = world_->wire_bytes};
  }
  // As fast as it is put; only the seal takes time.
  std::unique_ptr<BegunPush> BeginPush(const store::PushId&) override {
    class Begun final : public BegunPush {
     public:
      explicit Begun(World* world) : world_(world) {}
      void Put(uint64_t, std::span<const std::byte>) override {}
      StatusOr<PushReport> Seal() override {
        world_->now += world_->takes;
        if (!world_->status.ok()) return world_->status;
        return PushReport{.squared_norm = 4, .wire_bytes = world_->wire_bytes};
      }

     private:
      World* const world_;
    };
    if (!world_->takes_pieces) return nullptr;
    return std::make_unique<Begun>(world_);
  }
  StatusOr<PullReport> PullNamed(Version, sync::Exactness, std::span<std::byte>,
                                 const OnNamed& on_named) override {
    world_->now += world_->takes;
    if (!world_->status.ok()) return world_->status;
    if (on_named) on_named();
    return world_->pulled;
  }

 private:
  World* world_;
};

// 100 bytes a second and 0.5 s of latency.
struct Fixture {
  World world;
  std::array<std::byte, 100> bytes{};
  ThrottledParameterClient client{
      std::make_unique<Wire>(&world),
      {.time_for = [](uint64_t size) { return Seconds(0.5 + static_cast<double>(size) / 100); },
       .now = [this] { return world.now; },
       .sleep = [this](Duration duration) { world.slept.push_back(duration); }}};
};

TEST(ThrottledParameterClient, WaitsForWhatIsMissing) {
  Fixture f;
  EXPECT_TRUE(f.client.Fill(WorkerId(0), Incarnation(1), f.bytes, nullptr).ok());
  const StatusOr<PushReport> pushed = f.client.Push({}, f.bytes, nullptr);
  ASSERT_TRUE(pushed.ok());
  EXPECT_EQ(pushed->squared_norm, 3);
  ASSERT_TRUE(f.client.Pull(Version(1), sync::Exactness::kExact, f.bytes).ok());
  // 0.5 s + 100 bytes at 100 a second, less the 0.25 s that the call itself took.
  EXPECT_EQ(f.world.slept, std::vector<Duration>(3, Seconds(1.25)));
}

TEST(ThrottledParameterClient, AddsNothingToWhatIsSlowerAlready) {
  Fixture f;
  f.world.takes = Seconds(1.5);
  ASSERT_TRUE(f.client.Push({}, f.bytes, nullptr).ok());
  EXPECT_TRUE(f.world.slept.empty());
}

// 60 bytes at 0 s, 40 more when 50 of them have passed: the last one leaves at 1 s, and takes 0.5
// s.
TEST(ThrottledParameterClient, WhatIsPutTravelsMeanwhile) {
  Fixture f;
  const Time begin = f.world.now;
  const auto push = f.client.BeginPush({});
  ASSERT_NE(push, nullptr);
  push->Put(0, std::span(f.bytes).first(60));
  f.world.now = begin + Seconds(0.5);
  push->Put(60, std::span(f.bytes).subspan(60));
  f.world.now = begin + Seconds(0.75);
  const auto report = push->Seal();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->squared_norm, 4);
  EXPECT_EQ(f.world.slept, std::vector<Duration>{Seconds(0.5)});
}

TEST(ThrottledParameterClient, AnIdleLinkSavesNothingUp) {
  Fixture f;
  const Time begin = f.world.now;
  const auto push = f.client.BeginPush({});
  push->Put(0, std::span(f.bytes).first(10));
  f.world.now = begin + Seconds(5);
  push->Put(10, std::span(f.bytes).subspan(10));
  ASSERT_TRUE(push->Seal().ok());
  // 90 bytes and the latency, less what the seal took.
  EXPECT_EQ(f.world.slept, std::vector<Duration>{Seconds(1.15)});
  f.world.takes_pieces = false;
  EXPECT_EQ(f.client.BeginPush({}), nullptr);
}

// Half of the bytes, in half of the time; not so a push that is exact.
TEST(ThrottledParameterClient, WhatIsRoundedTakesAsLongAsWhatTravelsOfIt) {
  Fixture f;
  f.world.wire_bytes = f.world.pulled.wire_bytes = 50;
  ASSERT_TRUE(f.client.Push({}, f.bytes, nullptr).ok());
  ASSERT_TRUE(f.client.Pull(Version(1), sync::Exactness::kExact, f.bytes).ok());
  EXPECT_EQ(f.world.slept, std::vector<Duration>(2, Seconds(0.75)));
  f.world.slept.clear();
  ASSERT_TRUE(f.client.PushExactly({}, f.bytes, nullptr).ok());
  EXPECT_EQ(f.world.slept, std::vector<Duration>{Seconds(1.25)});
  f.world.slept.clear();
  const auto push = f.client.BeginPush({});
  push->Put(0, f.bytes);
  ASSERT_TRUE(push->Seal().ok());
  EXPECT_EQ(f.world.slept, std::vector<Duration>{Seconds(0.75)});
}

TEST(ThrottledParameterClient, NamesAVersionWhenAByteCouldBeHere) {
  Fixture f;
  std::vector<Duration> slept_before;
  ASSERT_TRUE(f.client
                  .PullNamed(Version(1), sync::Exactness::kAtLeast, f.bytes,
                             [&] { slept_before = f.world.slept; })
                  .ok());
  EXPECT_EQ(slept_before, std::vector<Duration>{Seconds(0.25)});
}

TEST(ThrottledParameterClient, SupersededPullsCarryNoBytes) {
  Fixture f;
  f.world.pulled.is_superseded = true;
  ASSERT_TRUE(f.client.Pull(Version(1), sync::Exactness::kExact, f.bytes).ok());
  EXPECT_EQ(f.world.slept, std::vector<Duration>{Seconds(0.25)});
}

TEST(ThrottledParameterClient, FailuresComeBackAtOnce) {
  Fixture f;
  f.world.status = Unavailable("shard is gone");
  EXPECT_EQ(f.client.Push({}, f.bytes, nullptr).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(f.client.Pull(Version(1), sync::Exactness::kExact, f.bytes).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(f.client.Fill(WorkerId(0), Incarnation(1), f.bytes, nullptr).code(),
            StatusCode::kUnavailable);
  EXPECT_TRUE(f.world.slept.empty());
}

}  // namespace
}  // namespace paceline::rpc
