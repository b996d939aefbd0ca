// Defines Fixture, for tests of Loop: a session that gives orders from a script, shards that tell
// what they were asked, and a trainer of four parameters.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/worker/loop/loop.h"

namespace paceline::worker::loop_testing {

using protocol::WorkerMessage;
using protocol::WorkerOrder;

inline store::Layout SmallLayout() {
  return *store::Layout::Create({{.name = "weight", .shape = {4}}});
}

// What happened, shared by the fakes of one test.
struct World {
  std::mutex mutex;
  std::vector<WorkerMessage> sent;  // Heartbeats left out.
  std::deque<std::deque<WorkerOrder>>
      sessions;  // The orders of each session, in turn; its end follows them.
  Status session_end = Unavailable("session ended");  // What follows them.
  Duration longest_wait{};                            // For an order.
  std::vector<std::string> calls;                     // Of the parameter client.
  std::vector<float> pushed;                          // The first number of each push.
  std::deque<Status> push_statuses;                   // Of the next pushes; OK when empty.
  Status fill_status = OkStatus();                    // Of the next fill.
  std::deque<rpc::PullReport> pull_reports;  // Of the next pulls; what was asked for when empty.
  std::deque<Status> step_statuses;
  std::deque<Status> handed_statuses;  // Likewise, once the push is handed over.
  double loss_scale = 0;
  std::function<void()> during_step = [] {};
  Duration step_sleep{};                    // Of each step, on purpose, after that.
  std::function<void(Sequence)> interrupt;  // As the session that runs does it.
  bool computes_anywhere = false;           // The trainer does...
  bool holds = false;                       // ...and the shards let it.
  bool takes_held = true;                   // The trainer does, when it comes to it.
  Status hold_status = OkStatus();          // Of the next hold.
  std::vector<float> held = std::vector<float>(4);
  bool takes_pieces = false;              // The shards do...
  bool hands_pieces = true;               // ...and so does the trainer.
  Status seal_status = OkStatus();        // Of the next seal.
  std::optional<uint64_t> non_finite_at;  // Of the next seals.
  std::deque<WorkerOrder> after_push;     // Received once pushes are told and nothing else is left.
  std::ptrdiff_t pushes_awaited = 1;      // How many those are.
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
      world_->changed.wait(lock, [this] {
        return std::ranges::count_if(world_->sent, [](const WorkerMessage& message) {
                 return std::holds_alternative<protocol::PushDone>(message);
               }) >= world_->pushes_awaited;
      });
      orders_ = std::exchange(world_->after_push, {});
    }
    world_->longest_wait = std::max(world_->longest_wait, timeout);
    if (orders_.empty()) return world_->session_end;
    WorkerOrder order = std::move(orders_.front());
    orders_.pop_front();
    // They overtake what is not received yet, and no more in a script than they have to.
    while (!orders_.empty() && std::holds_alternative<protocol::Interrupted>(orders_.front())) {
      world_->interrupt(std::get<protocol::Interrupted>(orders_.front()).sequence);
      orders_.pop_front();
    }
    return order;
  }
  std::optional<std::string> expelled() const override { return std::nullopt; }
  void OnInterrupt(std::function<void(Sequence)> interrupt) override {
    world_->interrupt = std::move(interrupt);
  }
  void Close() override {}

 private:
  World* world_;
  std::deque<WorkerOrder> orders_;
};

class FakeBegunPush : public rpc::BegunPush {
 public:
  FakeBegunPush(World* world, const store::PushId& id) : world_(world), id_(id) {}
  ~FakeBegunPush() override {
    if (!is_sealed_) world_->calls.push_back(fmt::format("drop {}", ToString(id_)));
  }
  void Put(uint64_t offset_bytes, std::span<const std::byte> part) override {
    world_->calls.push_back(fmt::format("put {}+{}", offset_bytes, part.size()));
  }
  StatusOr<rpc::PushReport> Seal() override {
    is_sealed_ = true;
    world_->calls.push_back(fmt::format("seal {}", ToString(id_)));
    const Status status = std::exchange(world_->seal_status, OkStatus());
    if (!status.ok()) return status;
    return rpc::PushReport{.squared_norm = 3.5,
                           .is_finite = !world_->non_finite_at,
                           .non_finite_at = world_->non_finite_at};
  }

 private:
  World* world_;
  const store::PushId id_;
  bool is_sealed_ = false;
};

// Where the held version stands.
class FakePlace : public rpc::VersionPlace {
 public:
  explicit FakePlace(World* world) : world_(world) {}
  std::span<const std::byte> bytes() const override {
    return std::as_bytes(std::span(world_->held));
  }
  std::span<std::byte> values() override { return std::as_writable_bytes(std::span(world_->held)); }
  Status MoveTo(std::byte*, size_t) override { return Unimplemented("no pages"); }
  void ComeBack() override {}

 private:
  World* world_;
};

class FakeShards : public rpc::ParameterClient {
 public:
  explicit FakeShards(World* world) : world_(world) {}
  ~FakeShards() override {
    if (world_->holds) world_->calls.push_back("shards end");
  }
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
  std::unique_ptr<rpc::BegunPush> BeginPush(const store::PushId& push) override {
    if (!world_->takes_pieces) return nullptr;
    world_->calls.push_back(fmt::format("begin {}", ToString(push)));
    return std::make_unique<FakeBegunPush>(world_, push);
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

  StatusOr<std::optional<rpc::PullReport>> Hold(Version version, sync::Exactness,
                                                const rpc::OnHeld& on_held) override {
    if (!world_->holds) return std::optional<rpc::PullReport>();
    world_->calls.push_back(fmt::format("hold {}", version));
    world_->held[0] = static_cast<float>(version.value());
    if (!world_->hold_status.ok()) return std::exchange(world_->hold_status, OkStatus());
    if (!on_held(std::make_shared<FakePlace>(world_))) return std::optional<rpc::PullReport>();
    return std::optional(rpc::PullReport{.oldest = version, .newest = version});
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
  bool computes_anywhere() const override { return world_->computes_anywhere; }
  bool ComputeOn(const std::shared_ptr<rpc::VersionPlace>& place) override {
    if (is_elsewhere_ && place == nullptr) world_->calls.push_back("own");
    is_elsewhere_ = place != nullptr && world_->takes_held;
    return place == nullptr || is_elsewhere_;
  }
  StatusOr<StepResult> Step(std::span<const protocol::SampleRange> ranges,
                            StepControl& control) override {
    world_->during_step();
    if (world_->computes_anywhere)
      world_->calls.push_back(is_elsewhere_ ? "step there" : "step on its own");
    if (world_->step_sleep > Duration::zero()) control.Sleep(world_->step_sleep);
    if (!control.MayGoOn()) return Cancelled("step interrupted");
    if (!world_->step_statuses.empty()) {
      const Status status = world_->step_statuses.front();
      world_->step_statuses.pop_front();
      if (!status.ok()) return status;
    }
    uint64_t samples = 0;
    for (const protocol::SampleRange& range : ranges) samples += range.size();
    const bool is_handed = control.push() != nullptr && world_->hands_pieces;
    if (is_handed) {
      control.push()->Put(8, push().subspan(8));
      control.push()->Put(0, push().first(8));
    }
    if (!world_->handed_statuses.empty()) {
      const Status status = world_->handed_statuses.front();
      world_->handed_statuses.pop_front();
      if (!status.ok()) return status;
    }
    return StepResult{.loss = 0.5,
                      .samples = samples,
                      .correct = 1,
                      .injected = Duration(samples),
                      .is_handed = is_handed,
                      .loss_scale = world_->loss_scale};
  }
  double loss_scale() const override { return world_->loss_scale; }
  StatusOr<Evaluation> Evaluate(const std::function<void()>&) override {
    return Evaluation{.loss = 0.25, .accuracy = 0.75, .samples = 8};
  }

 private:
  World* world_;
  bool is_elsewhere_ = false;
  store::Layout layout_ = SmallLayout();
  std::vector<float> values_ = std::vector<float>(4);
  std::vector<float> gradient_ = std::vector<float>(4, -2);
};

struct Fixture {
  World world;
  FakeTrainer trainer{&world};
  DrawnEpochs drawn{"WeightedRandomSampler"};
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
             .local = {.optimizer = optim::SgdOptions{.momentum = 0.5}},
             .drawn = &drawn,
             .frozen = {{"base", "bfloat16 [2]", "1f"}}},
            {.connect = [this]() -> StatusOr<std::unique_ptr<Session>> {
               if (world.sessions.empty()) return Unavailable("connection refused");
               auto session =
                   std::make_unique<ScriptedSession>(&world, std::move(world.sessions.front()));
               world.sessions.pop_front();
               return session;
             },
             .open_shards =
                 [this](const Generation&, const std::vector<protocol::ShardAddress>&,
                        const store::Layout&) -> StatusOr<std::unique_ptr<rpc::ParameterClient>> {
               return std::make_unique<FakeShards>(&world);
             }},
            &trainer};
};

inline protocol::Admitted Admit(uint64_t incarnation) {
  return {.incarnation = Incarnation(incarnation),
          .generation = {1, 0},
          .heartbeat_period = Seconds(3600),
          .compares_draws = true,
          .compares_frozen = true};
}

inline protocol::Released Release(uint64_t version, uint64_t lease, uint64_t samples = 10) {
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

}  // namespace paceline::worker::loop_testing
