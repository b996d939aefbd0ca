// Defines WorkAheadFixture, for tests of pacings that compute while they communicate: a model of
// one parameter, shards and a session that tell what they were asked, and gates for each of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/worker/loop/session.h"
#include "lib/worker/loop/trainer.h"
#include "lib/worker/loop/transfers.h"
#include "lib/worker/pacings/flows.h"

namespace paceline::worker::testing {

inline constexpr Duration kPatience = Seconds(20);

// What the fakes of one test share. Steps and pushes wait until they are let through; pulls only
// where HoldPulls was called first.
class World {
 public:
  void LetStep(int steps) {
    Change([&] { steps_ += steps; });
  }
  void LetPush(int pushes) {
    Change([&] { pushes_ += pushes; });
  }
  void HoldPulls() {
    Change([&] { pulls_ = 0; });
  }
  // Pulls whose versions are named; all where HoldNames was not called.
  void HoldNames() {
    Change([&] { names_ = 0; });
  }
  void LetName(int pulls) {
    Change([&] { names_ += pulls; });
  }
  void LetPull(int pulls) {
    Change([&] { pulls_ += pulls; });
  }
  template <class Do>
  void Change(Do what) {
    std::lock_guard lock(mutex_);
    what();
    changed_.notify_all();
  }
  // False if it does not come true in time.
  template <class Is>
  bool Await(Is is) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, is);
  }
  // The steady clock, which stands still unless told to go on.
  Time Now() {
    std::lock_guard lock(mutex_);
    if (std::this_thread::get_id() == computing) ++looks_at_clock;
    changed_.notify_all();
    return now;
  }
  bool Pass(int& gate) {
    std::unique_lock lock(mutex_);
    ++arrived_[&gate];
    changed_.notify_all();
    const bool is_open = changed_.wait_for(lock, kPatience, [&] { return gate > 0 || is_over; });
    --gate;
    --arrived_[&gate];
    return is_open && !is_over;
  }

  bool AwaitAt(const int& gate) {
    return Await([&] { return arrived_[&gate] > 0; });
  }

  int steps_ = 0, pushes_ = 0, pulls_ = 1 << 20,
      names_ = 1 << 20;  // Let through, and not made yet.
  bool is_over = false;
  std::vector<float> gradients;               // Of the next steps; 1 when empty.
  Duration injected{};                        // Into each step.
  double readings = 0;                        // Of the host's signals.
  std::map<uint64_t, float> versions;         // What they hold; their number if not here.
  std::vector<float> computed_on;             // The parameter at each step.
  std::vector<std::string> calls;             // Of the parameter client.
  std::vector<protocol::WorkerMessage> sent;  // To the coordinator.
  int uses_of_parameters = 0;
  bool is_closed = false;
  Status push_status;
  int pull_failures = 0;  // Of the next pulls, after their versions were named.
  Time now{};
  std::thread::id computing;  // The thread that makes steps, once it has made one...
  int looks_at_clock = 0;     // ...and how often it has asked for the time since.

 private:
  std::map<const int*, int> arrived_;  // Who waits to be let through.
  std::mutex mutex_;
  std::condition_variable changed_;
};

class FakeSession : public Session {
 public:
  explicit FakeSession(World* world) : world_(world) {}
  Status Send(const protocol::WorkerMessage& message) override {
    world_->Change([&] { world_->sent.push_back(message); });
    return OkStatus();
  }
  StatusOr<protocol::WorkerOrder> Receive(Duration) override { return Unavailable("not asked"); }
  std::optional<std::string> expelled() const override { return std::nullopt; }
  void OnInterrupt(std::function<void(Sequence)>) override {}
  void Close() override {
    world_->Change([&] { world_->is_closed = true; });
  }

 private:
  World* world_;
};

class FakeShards : public rpc::ParameterClient {
 public:
  explicit FakeShards(World* world) : world_(world) {}
  Status Fill(WorkerId, Incarnation, std::span<const std::byte>,
              std::shared_ptr<const void>) override {
    return OkStatus();
  }
  StatusOr<rpc::PushReport> Push(const store::PushId& push, std::span<const std::byte> payload,
                                 std::shared_ptr<const void>) override {
    world_->Pass(world_->pushes_);
    const float delta = *reinterpret_cast<const float*>(payload.data());
    Status status;
    world_->Change([&] {
      world_->calls.push_back(fmt::format("push {} {}", push.sequence, delta));
      status = world_->push_status;
    });
    if (!status.ok()) return status;
    return rpc::PushReport{.squared_norm = delta * delta, .is_finite = std::isfinite(delta)};
  }
  StatusOr<rpc::PullReport> PullNamed(Version version, sync::Exactness, std::span<std::byte> into,
                                      const rpc::OnNamed& on_named) override {
    world_->Pass(world_->names_);
    if (on_named) on_named();
    world_->Pass(world_->pulls_);
    bool is_broken = false;
    world_->Change([&] {
      is_broken = world_->pull_failures > 0;
      if (is_broken) --world_->pull_failures;
    });
    if (is_broken) return Unavailable("link broke");
    world_->Change([&] {
      world_->calls.push_back(fmt::format("pull {}", version));
      const auto found = world_->versions.find(version.value());
      *reinterpret_cast<float*>(into.data()) =
          found == world_->versions.end() ? static_cast<float>(version.value()) : found->second;
    });
    return rpc::PullReport{.oldest = version, .newest = version};
  }

 private:
  World* world_;
};

constexpr uint64_t kOverflowing = 7;  // Samples of a step whose gradients overflow.

class FakeTrainer : public Trainer {
 public:
  explicit FakeTrainer(World* world) : world_(world) {}
  const store::Layout& layout() const override { return layout_; }
  uint64_t train_samples() const override { return 100; }
  Status BeginAnew() override { return OkStatus(); }
  std::span<std::byte> parameters() override {
    world_->Change([&] { ++world_->uses_of_parameters; });
    return std::as_writable_bytes(std::span(&value_, 1));
  }
  std::span<const std::byte> push() const override {
    return std::as_bytes(std::span(&gradient_, 1));
  }
  StatusOr<StepResult> Step(std::span<const protocol::SampleRange> ranges,
                            StepControl& control) override {
    world_->Change([&] { world_->computing = std::this_thread::get_id(); });
    if (!world_->Pass(world_->steps_) || !control.MayGoOn()) return Cancelled("given up");
    world_->Change([&] {
      world_->computed_on.push_back(value_);
      gradient_ = -1;
      if (world_->gradients.empty()) return;
      gradient_ = world_->gradients.front();
      world_->gradients.erase(world_->gradients.begin());
    });
    if (ranges[0].size() > 50) return ResourceExhausted("out of memory");
    if (ranges[0].size() == kOverflowing) return Aborted("gradients overflow");
    return StepResult{.loss = gradient_, .samples = ranges[0].size(), .injected = world_->injected};
  }
  double loss_scale() const override { return 512; }
  StatusOr<Evaluation> Evaluate(const std::function<void()>&) override {
    return FailedPrecondition("not asked");
  }

 private:
  World* world_;
  store::Layout layout_ = *store::Layout::Create({{.name = "w", .shape = {1}}});
  float value_ = 0, gradient_ = 0;
};

// A learning rate of 1 and gradients of -1: each step adds 1 to the only parameter. Whoever derives
// from it ends the world before its pacing goes.
struct WorkAheadFixture {
  World world;
  FakeTrainer trainer{&world};
  std::shared_ptr<FakeSession> session = std::make_shared<FakeSession>(&world);
  Transfers transfers{
      WorkerId(0), {.incarnation = Incarnation(1)}, std::make_unique<FakeShards>(&world)};
  uint64_t leases = 0;

  Flows::Options Options() {
    return {session, &transfers, &trainer, [this] { return world.Now(); },
            [this](Time) {
              sync::Signals signals;
              world.Change([&] { signals.memory_available = ++world.readings; });
              return signals;
            }};
  }
  void EndWorld() {
    world.Change([this] { world.is_over = true; });
  }
  protocol::Lease Lease(uint64_t samples = 4) {
    return {.id = protocol::LeaseId(++leases), .ranges = {{0, 0, samples}}};
  }
  template <class T>
  std::vector<T> Sent() {
    std::vector<T> found;
    world.Change([&] {
      for (const protocol::WorkerMessage& message : world.sent) {
        if (const T* one = std::get_if<T>(&message)) found.push_back(*one);
      }
    });
    return found;
  }
  template <class T>
  bool AwaitSent(size_t count) {
    return world.Await([&] {
      return static_cast<size_t>(std::count_if(world.sent.begin(), world.sent.end(),
                                               [](const protocol::WorkerMessage& message) {
                                                 return std::holds_alternative<T>(message);
                                               })) >= count;
    });
  }
};

}  // namespace paceline::worker::testing
