// EagerPull against shards that take their time: however long pushes, commits, answers, namings and
// pulls take, each of its own steps is once in what it computes on.
//
// There is one worker, and each step adds 1 to every parameter. So step i computes on i, whatever
// has arrived by then; a push that a version held and that was added once more would show for ever.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/telemetry/clock.h"
#include "lib/worker/pacings/eager_pull.h"

namespace paceline::worker {
namespace {

constexpr size_t kShards = 2;  // One parameter each.
constexpr int kSteps = 60;

// Sleeps in place of transfers: up to so long, or not at all.
class Delays {
 public:
  Delays(uint64_t seed, std::vector<int> micros) : random_(seed), micros_(std::move(micros)) {}
  void Take(size_t kind) {
    int micros = 0;
    {
      std::lock_guard lock(mutex_);
      micros = std::uniform_int_distribution<int>(0, micros_[kind])(random_);
    }
    // sleeps: it stands for a transfer; how long that takes is what the test varies
    if (micros > 0) std::this_thread::sleep_for(std::chrono::microseconds(micros));
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::vector<int> micros_;
};
enum Kind : size_t { kStep, kPush, kCommit, kName, kPull, kKinds };

// The shards, and a coordinator that commits each push alone and answers.
class Server {
 public:
  explicit Server(Delays* delays) : delays_(delays), thread_([this] { Coordinate(); }) {}
  ~Server() { Stop(); }
  void Stop() {
    {
      std::lock_guard lock(mutex_);
      is_over_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }
  float Read(size_t shard) {
    std::lock_guard lock(mutex_);
    return values_[shard];
  }
  void Stage(std::vector<float> delta) {
    std::lock_guard lock(mutex_);
    staged_.push_back(std::move(delta));
  }
  void Done(Sequence sequence) {
    std::lock_guard lock(mutex_);
    done_.push_back(sequence);
    changed_.notify_all();
  }
  void Order(std::optional<Sequence> includes) {
    protocol::Released released{.version = Version(includes ? includes->value() : 0),
                                .learning_rate = 1};
    released.exactness = sync::Exactness::kAtLeast;
    released.includes = includes;
    released.assignment = {.samples = 1, .pacing = sync::Pacing::kEagerPull, .depth = depth};
    released.lease = Lease();
    eager->Release(released);
  }
  protocol::Lease Lease() { return {.id = protocol::LeaseId(++leases_), .ranges = {{0, 0, 1}}}; }

  EagerPull* eager = nullptr;
  uint32_t depth = 1;

 private:
  void Coordinate() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_over_ || !done_.empty(); });
      if (is_over_) return;
      const Sequence sequence = done_.front();
      done_.pop_front();
      const std::vector<float> delta = staged_.front();
      staged_.pop_front();
      for (size_t shard = 0; shard < kShards; ++shard) {
        lock.unlock();
        delays_->Take(kCommit);
        lock.lock();
        values_[shard] += delta[shard];
      }
      lock.unlock();
      Order(sequence);
      lock.lock();
    }
  }

  Delays* const delays_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float> values_ = std::vector<float>(kShards);
  std::deque<std::vector<float>> staged_;
  std::deque<Sequence> done_;
  bool is_over_ = false;
  std::atomic<uint64_t> leases_ = 0;
  std::thread thread_;  // Last: it uses the rest.
};

class SlowShards : public rpc::ParameterClient {
 public:
  SlowShards(Server* server, Delays* delays) : server_(server), delays_(delays) {}
  Status Fill(WorkerId, Incarnation, std::span<const std::byte>,
              std::shared_ptr<const void>) override {
    return OkStatus();
  }
  StatusOr<rpc::PushReport> Push(const store::PushId&, std::span<const std::byte> payload,
                                 std::shared_ptr<const void>) override {
    delays_->Take(kPush);
    const auto* const delta = reinterpret_cast<const float*>(payload.data());
    server_->Stage({delta, delta + kShards});
    return rpc::PushReport{};
  }
  StatusOr<rpc::PullReport> PullNamed(Version version, sync::Exactness, std::span<std::byte> into,
                                      const rpc::OnNamed& on_named) override {
    auto* const values = reinterpret_cast<float*>(into.data());
    for (size_t shard = 0; shard < kShards; ++shard) {
      delays_->Take(kName);
      values[shard] = server_->Read(shard);
    }
    if (on_named) on_named();
    delays_->Take(kPull);
    return rpc::PullReport{.oldest = version, .newest = version};
  }

 private:
  Server* const server_;
  Delays* const delays_;
};

class Reporting : public Session {
 public:
  explicit Reporting(Server* server) : server_(server) {}
  Status Send(const protocol::WorkerMessage& message) override {
    if (const auto* done = std::get_if<protocol::PushDone>(&message)) server_->Done(done->sequence);
    return OkStatus();
  }
  StatusOr<protocol::WorkerOrder> Receive(Duration) override { return Unavailable("not asked"); }
  std::optional<std::string> expelled() const override { return std::nullopt; }
  void OnInterrupt(std::function<void(Sequence)>) override {}
  void Close() override {}

 private:
  Server* const server_;
};

class Counting : public Trainer {
 public:
  explicit Counting(Delays* delays) : delays_(delays) {}
  const store::Layout& layout() const override { return layout_; }
  uint64_t train_samples() const override { return 1; }
  Status BeginAnew() override { return OkStatus(); }
  std::span<std::byte> parameters() override { return std::as_writable_bytes(std::span(values_)); }
  std::span<const std::byte> push() const override { return std::as_bytes(std::span(gradients_)); }
  StatusOr<StepResult> Step(std::span<const protocol::SampleRange>, StepControl& control) override {
    delays_->Take(kStep);
    std::unique_lock lock(mutex_);
    if (computed_on_.size() < kSteps) computed_on_.push_back(values_);
    changed_.notify_all();
    if (computed_on_.size() == kSteps && !control.MayGoOn()) return Cancelled("over");
    return StepResult{.samples = 1};
  }
  StatusOr<Evaluation> Evaluate(const std::function<void()>&) override {
    return FailedPrecondition("not asked");
  }
  // Empty if they are not made in time.
  std::vector<std::vector<float>> Await() {
    std::unique_lock lock(mutex_);
    const bool are_made = changed_.wait_for(lock, std::chrono::seconds(60),
                                            [this] { return computed_on_.size() == kSteps; });
    return are_made ? computed_on_ : std::vector<std::vector<float>>();
  }

 private:
  Delays* const delays_;
  store::Layout layout_ = *store::Layout::Create({{.name = "w", .shape = {kShards}}});
  std::vector<float> values_ = std::vector<float>(kShards);
  std::vector<float> gradients_ = std::vector<float>(kShards, -1);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<float>> computed_on_;
};

struct Life {
  const char* name;
  std::vector<int> micros;  // By Kind.
};

void PrintTo(const Life& life, std::ostream* out) { *out << life.name; }

class EagerPullTiming : public ::testing::TestWithParam<Life> {};

TEST_P(EagerPullTiming, EachOwnStepIsOnceInWhatItComputesOn) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    Delays delays(seed, GetParam().micros);
    Server server(&delays);
    server.depth = 1 + seed % 3;
    Counting trainer(&delays);
    Transfers transfers(WorkerId(0), {.incarnation = Incarnation(1)},
                        std::make_unique<SlowShards>(&server, &delays));
    auto eager = std::make_unique<EagerPull>(
        Flows::Options{std::make_shared<Reporting>(&server), &transfers, &trainer,
                       telemetry::SteadyNow},
        *LocalSteps::Create({.optimizer = optim::SgdOptions{}}, trainer.layout()));
    server.eager = eager.get();
    server.Order(std::nullopt);
    eager->Continue({{.samples = 1, .pacing = sync::Pacing::kEagerPull, .depth = server.depth},
                     server.Lease(),
                     1});
    const std::vector<std::vector<float>> computed_on = trainer.Await();
    server.Stop();
    eager.reset();
    ASSERT_EQ(computed_on.size(), static_cast<size_t>(kSteps)) << "seed " << seed;
    for (size_t step = 0; step < computed_on.size(); ++step) {
      ASSERT_EQ(computed_on[step], std::vector<float>(kShards, static_cast<float>(step)))
          << "step " << step << ", seed " << seed << ", depth " << server.depth;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lives, EagerPullTiming,
                         ::testing::Values(Life{"SlowPulls", {50, 50, 20, 20, 400}},
                                           Life{"SlowPushes", {50, 400, 20, 20, 50}},
                                           Life{"SlowNaming", {50, 20, 20, 200, 50}},
                                           Life{"SlowSteps", {400, 100, 20, 20, 100}},
                                           Life{"AllAlike", {150, 150, 80, 80, 150}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace paceline::worker
