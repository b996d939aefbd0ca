#include "worker/loop/eager_pull.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr Duration kPatience = Seconds(20);

// What the fakes of one test share. Steps, pushes and pulls wait until they are let through.
class World {
 public:
  void LetStep(int steps) {
    Change([&] { steps_ += steps; });
  }
  void LetPush(int pushes) {
    Change([&] { pushes_ += pushes; });
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
  bool Pass(int& gate) {
    std::unique_lock lock(mutex_);
    const bool is_open = changed_.wait_for(lock, kPatience, [&] { return gate > 0 || is_over; });
    --gate;
    return is_open && !is_over;
  }

  int steps_ = 0, pushes_ = 0, pulls_ = 0;  // Let through, and not made yet.
  bool is_over = false;
  std::vector<float> gradients;               // Of the next steps; 1 when empty.
  std::map<uint64_t, float> versions;         // What they hold; their number if not here.
  std::vector<float> computed_on;             // The parameter at each step.
  std::vector<std::string> calls;             // Of the parameter client.
  std::vector<protocol::WorkerMessage> sent;  // To the coordinator.
  bool is_closed = false;
  Status push_status;

 private:
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
  StatusOr<rpc::PullReport> Pull(Version version, sync::Exactness,
                                 std::span<std::byte> into) override {
    world_->Pass(world_->pulls_);
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

class FakeTrainer : public Trainer {
 public:
  explicit FakeTrainer(World* world) : world_(world) {}
  const store::Layout& layout() const override { return layout_; }
  uint64_t train_samples() const override { return 100; }
  Status BeginAnew() override { return OkStatus(); }
  std::span<std::byte> parameters() override {
    return std::as_writable_bytes(std::span(&value_, 1));
  }
  std::span<const std::byte> push() const override {
    return std::as_bytes(std::span(&gradient_, 1));
  }
  StatusOr<StepResult> Step(std::span<const protocol::SampleRange> ranges,
                            const KeepGoing& keep_going) override {
    if (!world_->Pass(world_->steps_) || !keep_going()) return Cancelled("given up");
    world_->Change([&] {
      world_->computed_on.push_back(value_);
      gradient_ = -1;
      if (world_->gradients.empty()) return;
      gradient_ = world_->gradients.front();
      world_->gradients.erase(world_->gradients.begin());
    });
    if (ranges[0].size() > 50) return ResourceExhausted("out of memory");
    return StepResult{.loss = gradient_, .samples = ranges[0].size()};
  }
  StatusOr<Evaluation> Evaluate() override { return FailedPrecondition("not asked"); }

 private:
  World* world_;
  store::Layout layout_ = *store::Layout::Create({{.name = "w", .shape = {1}}});
  float value_ = 0, gradient_ = 0;
};

// A learning rate of 1 and gradients of -1: each step adds 1 to the only parameter.
struct Fixture {
  World world;
  FakeTrainer trainer{&world};
  std::shared_ptr<FakeSession> session = std::make_shared<FakeSession>(&world);
  Transfers transfers{
      WorkerId(0), {.incarnation = Incarnation(1)}, std::make_unique<FakeShards>(&world)};
  std::unique_ptr<EagerPull> eager;
  uint64_t leases = 0;

  explicit Fixture(optim::SgdOptions sgd = {}) {
    eager = std::make_unique<EagerPull>(
        EagerPull::Options{session, &transfers, &trainer, [] { return Time{}; }},
        *LocalSteps::Create({.optimizer = sgd}, trainer.layout()));
  }
  ~Fixture() {
    world.Change([this] { world.is_over = true; });
    eager.reset();
  }

  protocol::Lease Lease(uint64_t samples = 4) {
    return {.id = protocol::LeaseId(++leases), .ranges = {{0, 0, samples}}};
  }
  void Release(uint64_t version, uint64_t includes, double scale = 1, bool has_samples = true) {
    protocol::Released released{.version = Version(version), .learning_rate = 1};
    released.exactness = sync::Exactness::kAtLeast;
    released.assignment = {.samples = 4, .learning_rate_scale = scale, .pacing = eager->pacing()};
    if (includes > 0) released.includes = Sequence(includes);
    if (has_samples) released.lease = Lease();
    eager->Release(released);
  }
  void Continue(uint64_t samples = 4) {
    eager->Continue({{.samples = 4, .pacing = eager->pacing()}, Lease(samples), 1});
  }
  // A worker that has made its first step, pushed it and is about to make its second.
  void Begin() {
    Release(0, 0);
    Continue();
    world.LetPull(1);
    world.LetStep(1);
    world.LetPush(1);
    ASSERT_TRUE(AwaitSent<protocol::PushDone>(1));
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

TEST(EagerPull, ComputesTheNextStepOnItsOwnCopyWhileTheAnswerIsPulled) {
  Fixture f;
  f.Begin();
  // The version holds the first push (a share of it) and what others did.
  f.world.versions[5] = 100;
  f.Release(5, 1);
  // The second step ends before the answer is here.
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 2; }));
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 3; }));
  // On the version, on its own first step, on the answer with its second step on top.
  EXPECT_THAT(f.world.computed_on, ElementsAre(0, 1, 101));
  EXPECT_THAT(f.world.calls, ElementsAre("pull v0", "push #1 1", "pull v5", "push #2 1"));
  const auto pushes = f.Sent<protocol::PushDone>();
  EXPECT_EQ(pushes[0].based_on, Version(0));
  EXPECT_EQ(pushes[1].based_on, Version(0));
  EXPECT_THAT(pushes[1].leases, ElementsAre(protocol::LeaseId(2)));
}

TEST(EagerPull, NeverPushesBeforeThePushBeforeWasAnswered) {
  Fixture f;
  f.Begin();
  f.Continue();
  f.world.LetStep(2);
  f.world.LetPush(5);
  f.world.LetPull(5);
  // Only one more step is made, and its push waits.
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 2; }));
  EXPECT_THAT(f.Sent<protocol::PushDone>(), SizeIs(1));
  f.Release(1, 1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_THAT(f.world.calls, ElementsAre("pull v0", "push #1 1", "pull v1", "push #2 1"));
}

TEST(EagerPull, TheScaleOfTheAnswerShrinksTheStepInFlightAndTheCopyAlike) {
  Fixture f;
  f.Begin();
  f.world.versions[5] = 100;
  f.world.LetStep(1);
  f.Release(5, 1, 0.25);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 3; }));
  EXPECT_EQ(f.world.calls.back(), "push #2 0.25");
  EXPECT_EQ(f.world.computed_on[2], 100.25f);
}

// Scaled after momentum: what one push lacks does not leak into the next.
TEST(EagerPull, TheScaleLeavesMomentumAlone) {
  Fixture f({.momentum = 0.5});
  f.Begin();
  f.world.LetStep(1);
  f.Release(1, 1, 0.25);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  f.world.LetStep(1);
  f.Release(2, 2);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(3));
  // Steps of 1, 1.5 and 1.75, whatever was pushed of them.
  EXPECT_THAT(f.world.calls, ElementsAre("pull v0", "push #1 1", "pull v1", "push #2 0.375",
                                         "pull v2", "push #3 1.75"));
}

TEST(EagerPull, AnAnswerWithoutSamplesLetsThePushGo) {
  Fixture f;
  f.Begin();
  f.world.LetStep(1);
  f.Release(5, 1, 1, false);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_EQ(f.world.calls.back(), "push #2 1");
}

TEST(EagerPull, AfterAPauseItBeginsOnWhatItIsReleasedOn) {
  GTEST_SKIP() << "a race: a release that comes before the worker has noticed its pause leaves it "
                  "on its own copy; manifests refuse PSPlus until that is right";
  Fixture f;
  f.Begin();
  f.world.LetStep(1);
  f.Release(5, 1, 1, false);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  f.world.versions[9] = 200;
  f.Release(9, 2);
  f.world.LetPull(1);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(3));
  EXPECT_EQ(f.world.computed_on[2], 200);
  EXPECT_EQ(f.Sent<protocol::PushDone>()[2].based_on, Version(9));
}

// It was sent before the push arrived, and the shards may have applied that by now.
TEST(EagerPull, DoesNotPullAReleaseThatKnowsNothingOfTheLastPush) {
  Fixture f;
  f.Begin();
  f.Release(4, 0);
  f.Release(5, 1);
  f.world.LetPull(2);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_THAT(f.world.calls, ElementsAre("pull v0", "push #1 1", "pull v5", "push #2 1"));
}

TEST(EagerPull, ALeaseMayComeBeforeTheFirstVersion) {
  Fixture f;
  f.Continue();
  f.Release(3, 0);
  f.world.LetPull(1);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(1));
  EXPECT_EQ(f.Sent<protocol::PushDone>()[0].based_on, Version(3));
}

TEST(EagerPull, PushesWhatIsNotFiniteAndGoesOnWithoutIt) {
  Fixture f({.momentum = 0.5});
  f.Begin();
  f.world.Change([&] { f.world.gradients = {std::numeric_limits<float>::quiet_NaN()}; });
  f.world.versions[5] = 100;
  f.world.LetStep(1);
  f.Release(5, 1);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_FALSE(f.Sent<protocol::PushDone>()[1].gradient.is_finite);
  f.world.LetStep(1);
  f.Release(6, 2);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(3));
  // On the answer alone; momentum begins anew.
  EXPECT_EQ(f.world.computed_on[2], 100);
  EXPECT_EQ(f.world.calls.back(), "push #3 1");
}

TEST(EagerPull, WhoseFirstPushIsNotFiniteWaitsForAVersionBeforeItGoesOn) {
  Fixture f;
  f.world.Change([&] { f.world.gradients = {std::numeric_limits<float>::infinity()}; });
  f.Begin();
  f.world.versions[5] = 100;
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.computed_on.size() == 1; }));
  f.Release(5, 1);
  f.world.LetPull(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_THAT(f.world.computed_on, ElementsAre(0, 100));
}

TEST(EagerPull, HandsBackABatchThatDoesNotFit) {
  Fixture f;
  f.Release(0, 0);
  f.Continue(60);
  f.Continue();
  f.world.LetPull(2);
  f.world.LetStep(3);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::Abandoned>(1));
  EXPECT_EQ(f.Sent<protocol::Abandoned>()[0].samples_fit, 30u);
  EXPECT_THAT(f.Sent<protocol::Abandoned>()[0].leases, ElementsAre(protocol::LeaseId(2)));
  // Its sequence is spent: the next push is the third.
  f.Release(1, 1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_EQ(f.Sent<protocol::PushDone>()[1].sequence, Sequence(3));
}

TEST(EagerPull, DrainsWithoutWaitingForAnAnswer) {
  Fixture f;
  f.Begin();
  ASSERT_TRUE(f.world.Await([&] { return f.world.steps_ <= 0; }));
  f.eager->Drain();
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::Leaving>(1));
  EXPECT_TRUE(std::holds_alternative<protocol::Leaving>(f.world.sent.back()));
}

TEST(EagerPull, ClosesTheSessionWhenItCannotGoOn) {
  Fixture f;
  f.world.push_status = PermissionDenied("incarnation is fenced: i1");
  f.Release(0, 0);
  f.world.LetPull(1);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.is_closed; }));
  EXPECT_EQ(f.eager->status().code(), StatusCode::kAborted);
}

}  // namespace
}  // namespace paceline::worker
