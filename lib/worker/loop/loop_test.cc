#include "lib/worker/loop/loop.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::worker {
namespace {

using protocol::WorkerMessage;
using protocol::WorkerOrder;

store::Layout SmallLayout() { return *store::Layout::Create({{.name = "weight", .shape = {4}}}); }

// What happened, shared by the fakes of one test.
struct World {
  std::mutex mutex;
  std::vector<WorkerMessage> sent;  // Heartbeats left out.
  std::deque<std::deque<WorkerOrder>>
      sessions;                      // The orders of each session, in turn; its end follows them.
  std::vector<std::string> calls;    // Of the parameter client.
  std::vector<float> pushed;         // The first number of each push.
  std::deque<Status> push_statuses;  // Of the next pushes; OK when empty.
  Status fill_status = OkStatus();   // Of the next fill.
  std::deque<rpc::PullReport> pull_reports;  // Of the next pulls; what was asked for when empty.
  std::deque<Status> step_statuses;
  std::function<void()> during_step = [] {};
  std::deque<WorkerOrder> after_push;  // Received once a push is told and nothing else is left.
  std::condition_variable changed;
};

class ScriptedSession : public Session {
 public:
  ScriptedSession(World* world, std::deque<WorkerOrder> orders)
      : world_(world), orders_(std::move(orders)) {}

  Status Send(const WorkerMessage& message) override {
    if (std::holds_alternative<protocol::Heartbeat>(message)) return OkStatus();
    std::lock_guard lock(world_->mutex);
    world_->sent.push_back(message);
    world_->changed.notify_all();
    if (std::holds_alternative<protocol::Leaving>(message))
      orders_.push_back(protocol::Finish{"drained"});
    return OkStatus();
  }
  StatusOr<WorkerOrder> Receive(Duration timeout) override {
    std::unique_lock lock(world_->mutex);
    if (orders_.empty() && !world_->after_push.empty() && timeout > Duration::zero()) {
      world_->changed.wait(
          lock, [this] { return std::holds_alternative<protocol::PushDone>(world_->sent.back()); });
      orders_ = std::exchange(world_->after_push, {});
    }
    if (orders_.empty()) return Unavailable("session ended");
    WorkerOrder order = std::move(orders_.front());
    orders_.pop_front();
    return order;
  }
  std::optional<std::string> expelled() const override { return std::nullopt; }
  void Close() override {}

 private:
  World* world_;
  std::deque<WorkerOrder> orders_;
};

class FakeShards : public rpc::ParameterClient {
 public:
  explicit FakeShards(World* world) : world_(world) {}
  Status Fill(WorkerId worker, Incarnation incarnation, std::span<const std::byte> payload,
              std::shared_ptr<const void>) override {
    world_->calls.push_back(fmt::format("fill {} {} {}", worker, incarnation, payload.size()));
    return std::exchange(world_->fill_status, OkStatus());
  }
  StatusOr<rpc::PushReport> Push(const store::PushId& push, std::span<const std::byte> payload,
                                 std::shared_ptr<const void>) override {
    world_->calls.push_back(fmt::format("push {} {}", ToString(push), payload.size()));
    world_->pushed.push_back(*reinterpret_cast<const float*>(payload.data()));
    if (!world_->push_statuses.empty()) {
      const Status status = world_->push_statuses.front();
      world_->push_statuses.pop_front();
      if (!status.ok()) return status;
    }
    return rpc::PushReport{.squared_norm = 2.5};
  }
  StatusOr<rpc::PullReport> PullNamed(Version version, sync::Exactness exactness,
                                      std::span<std::byte> into,
                                      const rpc::OnNamed& on_named) override {
    if (on_named) on_named();
    world_->calls.push_back(fmt::format("pull {}{}", version,
                                        exactness == sync::Exactness::kAtLeast ? " or later" : ""));
    *reinterpret_cast<float*>(into.data()) = static_cast<float>(version.value());
    if (world_->pull_reports.empty()) return rpc::PullReport{.oldest = version, .newest = version};
    const rpc::PullReport report = world_->pull_reports.front();
    world_->pull_reports.pop_front();
    return report;
  }

 private:
  World* world_;
};

class FakeTrainer : public Trainer {
 public:
  explicit FakeTrainer(World* world) : world_(world) {}
  Status BeginAnew() override {
    world_->calls.push_back("begin anew");
    return OkStatus();
  }
  const store::Layout& layout() const override { return layout_; }
  uint64_t train_samples() const override { return 100; }
  std::span<std::byte> parameters() override { return std::as_writable_bytes(std::span(values_)); }
  std::span<const std::byte> push() const override { return std::as_bytes(std::span(gradient_)); }
  StatusOr<StepResult> Step(std::span<const protocol::SampleRange> ranges,
                            const KeepGoing& keep_going) override {
    world_->during_step();
    if (!keep_going()) return Cancelled("step interrupted");
    if (!world_->step_statuses.empty()) {
      const Status status = world_->step_statuses.front();
      world_->step_statuses.pop_front();
      if (!status.ok()) return status;
    }
    uint64_t samples = 0;
    for (const protocol::SampleRange& range : ranges) samples += range.size();
    return StepResult{.loss = 0.5, .samples = samples, .correct = 1, .injected = Duration(samples)};
  }
  StatusOr<Evaluation> Evaluate(const std::function<void()>&) override {
    return Evaluation{.loss = 0.25, .accuracy = 0.75, .samples = 8};
  }

 private:
  World* world_;
  store::Layout layout_ = SmallLayout();
  std::vector<float> values_ = std::vector<float>(4);
  std::vector<float> gradient_ = std::vector<float>(4, -2);
};

struct Fixture {
  World world;
  FakeTrainer trainer{&world};
  std::atomic<Duration::rep> now = 0;
  Duration step = Seconds(1);  // Of the clock, each time that any thread reads it.
  Loop loop{{.role = protocol::Role::kWorker,
             .worker = WorkerId(2),
             .rejoin_timeout = Seconds(100),
             .backoff_min = Duration::zero(),
             .backoff_max = Duration::zero(),
             .now = [this] { return Time(Duration(now += step.count())); },
             .read_signals =
                 [](Time) { return sync::Signals{.cpu_available = 0.5, .memory_available = {}}; },
             .local = {.optimizer = optim::SgdOptions{.momentum = 0.5}}},
            {.connect = [this]() -> StatusOr<std::unique_ptr<Session>> {
               if (world.sessions.empty()) return Unavailable("connection refused");
               auto session =
                   std::make_unique<ScriptedSession>(&world, std::move(world.sessions.front()));
               world.sessions.pop_front();
               return session;
             },
             .open_shards = [this](const Generation&, const std::vector<protocol::ShardAddress>&)
                 -> StatusOr<std::unique_ptr<rpc::ParameterClient>> {
               return std::make_unique<FakeShards>(&world);
             }},
            &trainer};
};

protocol::Admitted Admit(uint64_t incarnation) {
  return {.incarnation = Incarnation(incarnation),
          .generation = {1, 0},
          .heartbeat_period = Seconds(3600)};
}

protocol::Released Release(uint64_t version, uint64_t lease, uint64_t samples = 10) {
  return {.version = Version(version),
          .lease = {.id = protocol::LeaseId(lease),
                    .ranges = {{.epoch = 0, .begin = 0, .end = samples}}}};
}

template <class T>
std::vector<T> Sent(const World& world) {
  std::vector<T> found;
  for (const WorkerMessage& message : world.sent) {
    if (const T* one = std::get_if<T>(&message)) found.push_back(*one);
  }
  return found;
}

TEST(Loop, JoinsFillsStepsAndPushes) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, protocol::Fill{}, Release(0, 7), Release(1, 8),
                       protocol::Finish{"done"}}};
  const StatusOr<std::string> end = f.loop.Run();
  ASSERT_TRUE(end.ok()) << Message(end.status());
  EXPECT_EQ(*end, "done");
  EXPECT_EQ(f.world.calls, (std::vector<std::string>{"fill w2 i1 16", "pull v0", "push w2 i1 #1 16",
                                                     "pull v1", "push w2 i1 #2 16"}));
  ASSERT_EQ(Sent<protocol::Join>(f.world).size(), 1u);
  EXPECT_EQ(Sent<protocol::Join>(f.world)[0].train_samples, 100u);
  const auto pushes = Sent<protocol::PushDone>(f.world);
  ASSERT_EQ(pushes.size(), 2u);
  EXPECT_EQ(pushes[1].sequence, Sequence(2));
  EXPECT_EQ(pushes[1].based_on, Version(1));
  EXPECT_EQ(pushes[1].samples, 10u);
  EXPECT_EQ(pushes[1].leases, std::vector<protocol::LeaseId>{protocol::LeaseId(8)});
  EXPECT_DOUBLE_EQ(pushes[1].gradient.squared_norm, 2.5);
  EXPECT_GT(pushes[1].timing.compute, Duration::zero());
  EXPECT_GT(pushes[1].timing.wait, Duration::zero());
  EXPECT_GT(pushes[1].timing.communication, Duration::zero());
  EXPECT_EQ(pushes[0].timing.injected, Duration(10));
  EXPECT_EQ(pushes[1].timing.injected, Duration(10));
}

TEST(Loop, TakesTheNewestAnnouncedVersionWhenItsOwnIsSuperseded) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, protocol::Offered{Version(9)}, Release(3, 1),
                       protocol::Finish{"done"}}};
  f.world.pull_reports = {{.is_superseded = true, .newest = Version(10)}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls[0], "pull v3");
  EXPECT_EQ(f.world.calls[1], "pull v9");
  EXPECT_EQ(Sent<protocol::PushDone>(f.world)[0].based_on, Version(9));
}

TEST(Loop, SaysWhichVersionItGotOfAtLeast) {
  Fixture f;
  protocol::Released release = Release(3, 1);
  release.exactness = sync::Exactness::kAtLeast;
  f.world.sessions = {{Admit(1), protocol::Shards{}, release, protocol::Finish{"done"}}};
  f.world.pull_reports = {{.oldest = Version(4), .newest = Version(5)}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls[0], "pull v3 or later");
  EXPECT_EQ(Sent<protocol::PushDone>(f.world)[0].based_on, Version(4));
}

TEST(Loop, HandsBackABatchThatDoesNotFit) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 5, 32), Release(0, 6, 16),
                       protocol::Finish{"done"}}};
  f.world.step_statuses = {ResourceExhausted("out of memory")};
  ASSERT_TRUE(f.loop.Run().ok());
  const auto abandoned = Sent<protocol::Abandoned>(f.world);
  ASSERT_EQ(abandoned.size(), 1u);
  EXPECT_EQ(abandoned[0].samples_fit, 28u);
  EXPECT_EQ(abandoned[0].leases[0], protocol::LeaseId(5));
  EXPECT_EQ(Sent<protocol::PushDone>(f.world)[0].sequence, Sequence(2));
}

// The time of a step that came to nothing is not the next one's.
TEST(Loop, ASecondTryIsTimedForItself) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 5, 32), Release(0, 6, 16),
                       protocol::Finish{"done"}}};
  f.world.step_statuses = {ResourceExhausted("out of memory")};
  f.world.during_step = [&f] {
    if (!f.world.step_statuses.empty()) f.now += Seconds(1000).count();
  };
  ASSERT_TRUE(f.loop.Run().ok());
  const auto pushes = Sent<protocol::PushDone>(f.world);
  ASSERT_EQ(pushes.size(), 1u);
  EXPECT_LT(pushes[0].timing.compute, Seconds(1000));
}

TEST(Loop, SendsWhatTheHostIsLikeWithEachPushWhateverThePacing) {
  for (const sync::Pacing pacing : {sync::Pacing::kWait, sync::Pacing::kKeepGoing,
                                    sync::Pacing::kOverlapped, sync::Pacing::kEagerPull}) {
    Fixture f;
    protocol::Released release = Release(0, 1);
    release.assignment.pacing = pacing;
    f.world.sessions = {{Admit(1), protocol::Shards{}, release}};
    f.world.after_push = {protocol::Finish{"done"}};
    ASSERT_TRUE(f.loop.Run().ok());
    const auto pushes = Sent<protocol::PushDone>(f.world);
    ASSERT_EQ(pushes.size(), 1u) << int(pacing);
    EXPECT_EQ(pushes[0].signals.cpu_available, 0.5) << int(pacing);
    EXPECT_EQ(pushes[0].signals.memory_available, std::nullopt) << int(pacing);
  }
}

TEST(Loop, EndsWithWordsWhenAStepCannotWork) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 5)}};
  f.world.step_statuses = {OutOfRange("position is beyond the data: 9")};
  const Status status = f.loop.Run().status();
  EXPECT_EQ(Message(status), "step failed: position is beyond the data: 9");
  ASSERT_EQ(Sent<protocol::Failing>(f.world).size(), 1u);
}

TEST(Loop, GivesUpWhenRefused) {
  Fixture f;
  f.world.sessions = {{protocol::Refused{protocol::RefuseReason::kLayoutDiffers,
                                         "tensor weight has shape [3], want [4]"}}};
  const Status status = f.loop.Run().status();
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Message(status), "refused: layout-differs: tensor weight has shape [3], want [4]");
}

protocol::Released ReleaseToKeepGoing(uint64_t version, uint64_t lease) {
  protocol::Released release = Release(version, lease);
  release.assignment.pacing = sync::Pacing::kKeepGoing;
  release.learning_rate = 0.5;
  return release;
}

protocol::Continued Continue(const protocol::Released& release) {
  return {release.assignment, release.lease, release.learning_rate};
}

TEST(Loop, PushesWhatItsLocalStepsChange) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, ReleaseToKeepGoing(3, 1),
                       Continue(ReleaseToKeepGoing(0, 2)), ReleaseToKeepGoing(4, 3),
                       protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls,
            (std::vector<std::string>{"pull v3", "push w2 i1 #1 16", "push w2 i1 #2 16", "pull v4",
                                      "push w2 i1 #3 16"}));
  // 0.5 x 2, then with momentum 0.5, which a new version leaves alone.
  EXPECT_EQ(f.world.pushed, (std::vector<float>{1, 1.5, 1.75}));
  const auto pushes = Sent<protocol::PushDone>(f.world);
  ASSERT_EQ(pushes.size(), 3u);
  EXPECT_EQ(pushes[1].based_on, Version(3));
  EXPECT_EQ(pushes[2].based_on, Version(4));
}

TEST(Loop, GoesBackToGradientsAndBeginsLocalStepsAnew) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, ReleaseToKeepGoing(3, 1), Release(4, 2),
                       ReleaseToKeepGoing(5, 3), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.pushed, (std::vector<float>{1, -2, 1}));
}

TEST(Loop, MakesOverlappedStepsUntilItIsReleasedToAnotherPacing) {
  Fixture f;
  protocol::Released release = ReleaseToKeepGoing(3, 1);
  release.assignment.pacing = sync::Pacing::kOverlapped;
  f.world.sessions = {{Admit(1), protocol::Shards{}, release}};
  f.world.after_push = {Release(4, 2), protocol::Finish{"done"}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls, (std::vector<std::string>{"pull v3", "push w2 i1 #1 16", "pull v4",
                                                     "push w2 i1 #2 16"}));
  EXPECT_EQ(f.world.pushed, (std::vector<float>{1, -2}));
}

TEST(Loop, GivesAStepUpWhenItIsInterrupted) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 5), protocol::Interrupted{},
                       Release(1, 6), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  const auto abandoned = Sent<protocol::Abandoned>(f.world);
  ASSERT_EQ(abandoned.size(), 1u);
  EXPECT_EQ(abandoned[0].reason, sync::AbandonReason::kInterrupted);
  EXPECT_EQ(abandoned[0].leases[0], protocol::LeaseId(5));
  const auto pushes = Sent<protocol::PushDone>(f.world);
  ASSERT_EQ(pushes.size(), 1u);
  EXPECT_EQ(pushes[0].sequence, Sequence(2));
  EXPECT_EQ(pushes[0].based_on, Version(1));
}

TEST(Loop, JoinsAnewAfterALostSessionAndCountsItsPushesFromOne) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 1)},
                      {Admit(2), protocol::Shards{}, Release(1, 2), protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls.back(), "push w2 i2 #1 16");
}

TEST(Loop, JoinsAnewWhenAPushIsFenced) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 1), Release(1, 2)},
                      {Admit(2), protocol::Shards{}, protocol::Finish{"done"}}};
  f.world.push_statuses = {FailedPrecondition("life of the worker is over: w2 i1")};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_TRUE(Sent<protocol::PushDone>(f.world).empty());
  EXPECT_EQ(Sent<protocol::Join>(f.world).size(), 2u);
}

// Its coordinator has heard nothing of it for too long, while it was filling in the values.
TEST(Loop, JoinsAnewWhenAFillIsFenced) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, protocol::Fill{}, Release(0, 1)},
                      {Admit(2), protocol::Shards{}, protocol::Finish{"done"}}};
  f.world.fill_status = FailedPrecondition("life of the worker is over: w2 i1");
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls, std::vector<std::string>{"fill w2 i1 16"});
  EXPECT_EQ(Sent<protocol::Join>(f.world).size(), 2u);
}

// No other session would end otherwise.
TEST(Loop, GivesUpWhereItMayNotSpeakForTheWorker) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 1)},
                      {Admit(2), protocol::Shards{}, protocol::Finish{"done"}}};
  f.world.push_statuses = {PermissionDenied("certificate names another process: worker-3")};
  EXPECT_EQ(f.loop.Run().status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Sent<protocol::Join>(f.world).size(), 1u);
}

TEST(Loop, GivesUpWhenNobodyComesBackInTime) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 1)}, {Admit(2)}, {Admit(3)}};
  const Status status = f.loop.Run().status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(Message(status),
            "gave up after 100 s without work: coordinator cannot be reached: connection refused");
  EXPECT_EQ(Sent<protocol::Join>(f.world).size(), 3u);
}

// Many short sessions are no reason to give up, as long as there is work between them.
TEST(Loop, OutlivesAnyNumberOfRestarts) {
  Fixture f;
  for (uint64_t life = 1; life <= 300; ++life)
    f.world.sessions.push_back({Admit(life), protocol::Shards{}, Release(life, life)});
  f.world.sessions.push_back({Admit(301), protocol::Finish{"done"}});
  const StatusOr<std::string> end = f.loop.Run();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(Sent<protocol::PushDone>(f.world).size(), 300u);
}

TEST(Loop, FillsTheInitialValuesWhenTheJobBeginsAnew) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, protocol::Fill{}, Release(0, 1)},
                      {Admit(2), protocol::Shards{}, protocol::Fill{}, protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  EXPECT_EQ(f.world.calls, (std::vector<std::string>{"fill w2 i1 16", "pull v0", "push w2 i1 #1 16",
                                                     "begin anew", "fill w2 i2 16"}));
}

TEST(Loop, DrainsWhileItWaitsForTheCoordinatorToComeBack) {
  Fixture f;
  f.step = Duration::zero();
  std::thread drainer([&f] { f.loop.Drain(); });
  const StatusOr<std::string> end = f.loop.Run();
  drainer.join();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(*end, "drained");
}

TEST(Loop, DrainsAfterThePushInWork) {
  Fixture f;
  f.world.sessions = {{Admit(1), protocol::Shards{}, Release(0, 1)}};
  f.world.during_step = [&f] { f.loop.Drain(); };
  const StatusOr<std::string> end = f.loop.Run();
  ASSERT_TRUE(end.ok()) << Message(end.status());
  ASSERT_GE(f.world.sent.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<protocol::PushDone>(f.world.sent[1]));
  EXPECT_TRUE(std::holds_alternative<protocol::Leaving>(f.world.sent[2]));
}

TEST(Loop, EvaluatesAVersion) {
  Fixture f;
  f.world.sessions = {
      {Admit(1), protocol::Shards{}, protocol::Evaluate{Version(6)}, protocol::Finish{"done"}}};
  ASSERT_TRUE(f.loop.Run().ok());
  const auto evaluated = Sent<protocol::Evaluated>(f.world);
  ASSERT_EQ(evaluated.size(), 1u);
  EXPECT_EQ(evaluated[0].version, Version(6));
  EXPECT_EQ(evaluated[0].accuracy, 0.75);
}

// Another version's result would be taken for that of the one that was asked for.
TEST(Loop, DoesNotEvaluateAnotherVersionInstead) {
  Fixture f;
  f.world.sessions = {
      {Admit(1), protocol::Shards{}, protocol::Evaluate{Version(6)}},
      {Admit(2), protocol::Shards{}, protocol::Evaluate{Version(10)}, protocol::Finish{"done"}}};
  f.world.pull_reports = {{.is_superseded = true, .newest = Version(10)}};
  ASSERT_TRUE(f.loop.Run().ok());
  const auto evaluated = Sent<protocol::Evaluated>(f.world);
  ASSERT_EQ(evaluated.size(), 1u);
  EXPECT_EQ(evaluated[0].version, Version(10));
}

TEST(Stopwatch, SplitsTimeByActivity) {
  Time now{};
  Stopwatch stopwatch([&] { return now; });
  now += Seconds(1);
  stopwatch.Switch(Activity::kCompute);
  now += Seconds(2);
  stopwatch.Injected(Seconds(0.5));
  stopwatch.Injected(Seconds(0.25));
  stopwatch.Switch(Activity::kCommunication);
  now += Seconds(3);
  const sync::Timing timing = stopwatch.Take();
  EXPECT_EQ(timing.wait, Seconds(1));
  EXPECT_EQ(timing.compute, Seconds(2));
  EXPECT_EQ(timing.communication, Seconds(3));
  EXPECT_EQ(timing.injected, Seconds(0.75));
  const sync::Timing next = stopwatch.Take();
  EXPECT_EQ(next.communication, Duration::zero());
  EXPECT_EQ(next.injected, Duration::zero());
}

}  // namespace
}  // namespace paceline::worker
