#include "worker/loop/overlapped.h"

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

// What the fakes of one test share. Steps and pushes wait until they are let through.
class World {
 public:
  void LetStep(int steps) {
    Change([&] { steps_ += steps; });
  }
  void LetPush(int pushes) {
    Change([&] { pushes_ += pushes; });
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

  int steps_ = 0, pushes_ = 0;  // Let through, and not made yet.
  bool is_over = false;
  std::vector<float> gradients;               // Of the next steps; 1 when empty.
  std::map<uint64_t, float> versions;         // What they hold; their number if not here.
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
  std::unique_ptr<Overlapped> overlapped = std::make_unique<Overlapped>(
      Overlapped::Options{session, &transfers, &trainer, [] { return Time{}; }},
      *LocalSteps::Create({.optimizer = optim::SgdOptions{}}, trainer.layout()));
  uint64_t leases = 0;
  sync::Assignment assignment{.samples = 4, .pacing = sync::Pacing::kOverlapped};

  ~Fixture() {
    world.Change([this] { world.is_over = true; });
    overlapped.reset();
  }

  protocol::Lease Lease(uint64_t samples = 4) {
    return {.id = protocol::LeaseId(++leases), .ranges = {{0, 0, samples}}};
  }
  void Release(uint64_t version) {
    overlapped->Release({.version = Version(version),
                         .assignment = assignment,
                         .lease = Lease(),
                         .learning_rate = 1});
  }
  void Continue(uint64_t samples = 4) { overlapped->Continue({assignment, Lease(samples), 1}); }
  bool AwaitCalls(size_t calls) {
    return world.Await([&] { return world.calls.size() >= calls; });
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

TEST(Overlapped, ComputesWhileItPushesAndPutsSeveralStepsIntoOnePush) {
  Fixture f;
  f.Release(0);
  f.Continue();
  f.Continue();
  f.world.LetStep(3);
  // The first push is held up: two more steps are made meanwhile.
  ASSERT_TRUE(f.world.Await([&] { return f.world.steps_ == 0; }));
  f.world.LetPush(2);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_THAT(f.world.calls, ElementsAre("pull v0", "push #1 1", "push #2 2"));
  const auto pushes = f.Sent<protocol::PushDone>();
  EXPECT_EQ(pushes[0].steps, 1u);
  EXPECT_EQ(pushes[1].steps, 2u);
  EXPECT_EQ(pushes[1].samples, 8u);
  EXPECT_THAT(pushes[1].leases, ElementsAre(protocol::LeaseId(2), protocol::LeaseId(3)));
}

TEST(Overlapped, PutsUnpushedStepsOnTopOfAVersionThatWasOffered) {
  Fixture f;
  f.world.versions[1] = 100;
  f.Release(0);
  f.Continue();
  f.world.LetStep(2);
  ASSERT_TRUE(f.world.Await([&] { return f.world.steps_ == 0; }));
  f.overlapped->Offer(Version(1));
  f.world.LetPush(2);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  const auto pushes = f.Sent<protocol::PushDone>();
  EXPECT_EQ(pushes[0].based_on, Version(0));
  f.Continue();
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(3));
  EXPECT_EQ(f.Sent<protocol::PushDone>()[2].based_on, Version(1));
  // Whatever came first, each step is in exactly one push.
  EXPECT_THAT(f.world.calls, ::testing::UnorderedElementsAre("pull v0", "push #1 1", "push #2 1",
                                                             "pull v1", "push #3 1"));
}

TEST(Overlapped, WaitsForTheVersionThatItWasReleasedOn) {
  Fixture f;
  f.Release(3);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(1));
  f.Release(4);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_EQ(f.Sent<protocol::PushDone>()[1].based_on, Version(4));
  EXPECT_THAT(f.world.calls, ElementsAre("pull v3", "push #1 1", "pull v4", "push #2 1"));
}

TEST(Overlapped, PushesWhatIsNotFiniteThenBeginsAnewOnTheNewestVersion) {
  Fixture f;
  f.world.gradients = {std::numeric_limits<float>::quiet_NaN()};
  f.Release(0);
  f.Continue();
  f.world.LetStep(2);
  f.world.LetPush(2);
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(2));
  EXPECT_THAT(f.world.calls, ElementsAre("pull v0", "push #1 nan", "pull v0", "push #2 1"));
  EXPECT_FALSE(f.Sent<protocol::PushDone>()[0].gradient.is_finite);
  EXPECT_TRUE(f.Sent<protocol::PushDone>()[1].gradient.is_finite);
}

TEST(Overlapped, HandsBackABatchThatDoesNotFit) {
  Fixture f;
  f.Release(0);
  f.Continue(60);
  f.world.LetStep(2);
  f.world.LetPush(1);
  ASSERT_TRUE(f.AwaitSent<protocol::Abandoned>(1));
  const auto abandoned = f.Sent<protocol::Abandoned>();
  EXPECT_EQ(abandoned[0].samples_fit, 54u);
  EXPECT_THAT(abandoned[0].leases, ElementsAre(protocol::LeaseId(2)));
  ASSERT_TRUE(f.AwaitSent<protocol::PushDone>(1));
  // Numbered one after the other.
  EXPECT_EQ(f.Sent<protocol::PushDone>()[0].sequence.value() + abandoned[0].sequence.value(), 3u);
}

TEST(Overlapped, DrainsOnceTheStepInWorkIsPushed) {
  Fixture f;
  f.Release(0);
  f.Continue();
  f.world.LetStep(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.steps_ <= 0; }));
  f.overlapped->Drain();
  f.world.LetStep(1);
  f.world.LetPush(2);
  ASSERT_TRUE(f.AwaitSent<protocol::Leaving>(1));
  EXPECT_TRUE(std::holds_alternative<protocol::Leaving>(f.world.sent.back()));
  EXPECT_GE(f.Sent<protocol::PushDone>().size(), 1u);
}

TEST(Overlapped, ClosesTheSessionWhenItCannotGoOn) {
  Fixture f;
  f.world.push_status = PermissionDenied("incarnation is fenced: i1");
  f.Release(0);
  f.world.LetStep(1);
  f.world.LetPush(1);
  ASSERT_TRUE(f.world.Await([&] { return f.world.is_closed; }));
  EXPECT_EQ(f.overlapped->status().code(), StatusCode::kAborted);
  EXPECT_THAT(f.Sent<protocol::PushDone>(), SizeIs(0));
}

}  // namespace
}  // namespace paceline::worker
