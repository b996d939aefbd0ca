// Workers that die while they share memory with shards, as processes of their own.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/testing/kill_timer.h"
#include "ps-server/service/data_plane_testing.h"

namespace paceline::ps {
namespace {

using testing::kGeneration;
using testing::LayoutOf;
using testing::MappedRegions;
using testing::Payload;
using testing::Shards;
using testing::Transport;

store::PushId Push(uint64_t worker, uint64_t sequence, uint64_t incarnation = 1) {
  return {WorkerId(worker), Incarnation(incarnation), Sequence(sequence)};
}

// What a worker's process is told to do, and what came of it.
struct Task {
  enum { kPush, kPull, kFork } what;
  uint64_t version_or_sequence;
  uint64_t incarnation;
  float value;
  std::chrono::microseconds dies_in = kLives;  // From when it has heard of the task.

  static constexpr std::chrono::microseconds kLives{-1};
};
struct Outcome {
  int code = 0;
  float value = 0;       // Of what was pulled.
  bool is_whole = true;  // All of it was the same.
  double squared_norm = 0;
  pid_t child = 0;
};

// Forked before the shards exist, so that it has nothing of theirs.
class WorkerProcess {
 public:
  explicit WorkerProcess(uint64_t worker) : worker_(worker) {
    EXPECT_EQ(::pipe2(tasks_, 0), 0);
    EXPECT_EQ(::pipe2(outcomes_, 0), 0);
    process_ = ::fork();
    if (process_ == 0) Live();
    ::close(tasks_[0]);
    ::close(outcomes_[1]);
  }
  ~WorkerProcess() {
    Kill();
    ::close(tasks_[1]);
    ::close(outcomes_[0]);
  }

  void Begin(const rpc::GrpcParameterClientOptions& options, const store::Layout& layout) {
    Setup setup{.parameters = static_cast<int64_t>(layout.parameter_bytes() / 4)};
    for (const protocol::ShardAddress& shard : options.shards) {
      std::strncpy(setup.addresses[setup.shards], shard.address.c_str(),
                   sizeof(setup.addresses[0]) - 1);
      setup.slices[setup.shards++] = shard.slice;
    }
    Write(tasks_[1], setup);
  }
  void Tell(const Task& task) { Write(tasks_[1], task); }
  // Nothing if it died first.
  std::optional<Outcome> Hear() { return Read<Outcome>(outcomes_[0]); }
  uint64_t worker() const { return worker_; }
  void Kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    AwaitDeath();
  }
  // After a task that it was to die of.
  void AwaitDeath() {
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  struct Setup {
    int64_t parameters = 0;
    size_t shards = 0;
    char addresses[4][100] = {};
    store::Slice slices[4];
  };

  template <class T>
  static void Write(int pipe, const T& what) {
    (void)!::write(pipe, &what, sizeof(what));
  }
  template <class T>
  static std::optional<T> Read(int pipe) {
    T what;
    if (::read(pipe, &what, sizeof(what)) != sizeof(what)) return std::nullopt;
    return what;
  }

  [[noreturn]] void Live() {
    ::close(tasks_[1]);
    ::close(outcomes_[0]);
    const std::optional<Setup> setup = Read<Setup>(tasks_[0]);
    if (!setup) ::_exit(0);
    rpc::SharedMemoryClientOptions options{.generation = kGeneration};
    for (size_t rank = 0; rank < setup->shards; ++rank)
      options.shards.push_back({ShardId(rank), setup->addresses[rank], setup->slices[rank]});
    std::unique_ptr<rpc::ParameterClient> no_sockets;
    auto client = rpc::SharedMemoryClient::Create(options, no_sockets);
    if (!client.ok()) ::_exit(1);
    while (const std::optional<Task> task = Read<Task>(tasks_[0])) {
      if (task->dies_in != Task::kLives) paceline::testing::KillThisProcessIn(task->dies_in);
      Write(outcomes_[1], Do(**client, *task, setup->parameters));
    }
    ::_exit(0);
  }

  Outcome Do(rpc::ParameterClient& client, const Task& task, int64_t parameters) const {
    Outcome outcome;
    if (task.what == Task::kFork) {
      outcome.child = ::fork();
      if (outcome.child == 0) {
        ::pause();
        ::_exit(0);
      }
      return outcome;
    }
    std::vector<float> values(LayoutOf(parameters).total_bytes() / 4);
    const auto bytes = std::as_writable_bytes(std::span(values));
    if (task.what == Task::kPull) {
      const auto report =
          client.Pull(Version(task.version_or_sequence), sync::Exactness::kExact, bytes);
      outcome.code = static_cast<int>(report.status().code());
      outcome.value = values[0];
      for (int64_t i = 0; i < parameters; ++i) outcome.is_whole &= values[i] == values[0];
      return outcome;
    }
    std::fill(values.begin(), values.begin() + parameters, task.value);
    const auto report =
        client.Push(Push(worker_, task.version_or_sequence, task.incarnation), bytes, nullptr);
    outcome.code = static_cast<int>(report.status().code());
    if (report.ok()) outcome.squared_norm = report->squared_norm;
    return outcome;
  }

  const uint64_t worker_;
  int tasks_[2], outcomes_[2];
  pid_t process_ = 0;
};

Payload AllOf(const store::Layout& layout, float value) {
  auto payload = std::make_shared<std::vector<std::byte>>(layout.total_bytes());
  for (uint64_t at = 0; at < layout.parameter_bytes(); at += 4)
    std::memcpy(payload->data() + at, &value, 4);
  return payload;
}

// A forked child holds the dead worker's sockets open, so that no end of file ever comes.
TEST(MemoryCrashTest, AWorkersDeathIsSeenThoughAChildHoldsItsSockets) {
  WorkerProcess worker(1);
  const int mapped = MappedRegions();
  Shards shards(Transport::kMemory, LayoutOf(50'000), 1);
  const auto client = shards.Born(AllOf(shards.layout(), 1));
  const int without_worker = MappedRegions();
  const size_t connections = shards[0].memory().connections();
  worker.Begin(shards.Options(), shards.layout());
  worker.Tell({Task::kPush, 1, 1, 2});
  ASSERT_EQ(worker.Hear()->code, 0);
  EXPECT_GT(MappedRegions(), without_worker) << "a slot of its own";
  worker.Tell({.what = Task::kFork});
  const pid_t child = worker.Hear()->child;
  ASSERT_GT(child, 0);
  worker.Kill();
  // The coordinator's word frees the slot; and no session holds anything of it.
  shards[0].host().Order(protocol::Fence{WorkerId(1), Incarnation(1)});
  while (MappedRegions() > without_worker)
    std::this_thread::yield();  // The test's timeout is the limit.
  while (shards[0].memory().connections() > connections) std::this_thread::yield();
  EXPECT_EQ(::kill(child, 0), 0) << "the child outlived it";
  ::kill(child, SIGKILL);
  EXPECT_GT(without_worker, mapped);
}

// Workers are killed at any moment, by a timer that begins with a task: in the middle of a push, a
// pull, or behind it. The next life of each goes on. Every version is whole and exactly the sum of
// what was acknowledged and committed.
TEST(MemoryCrashTest, WhoeverDiesAtAnyMomentNoVersionIsTornAndNoPushCountsTwice) {
  constexpr int kWorkers = 3;
  constexpr int kRounds = 60;
  constexpr int64_t kParameters = 400'000;
  std::vector<std::unique_ptr<WorkerProcess>> spares;
  for (int i = 0; i < kRounds + kWorkers; ++i)
    spares.push_back(std::make_unique<WorkerProcess>(i % kWorkers));
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);

  Shards shards(Transport::kMemory, LayoutOf(kParameters), 2);
  (void)shards.Born(AllOf(shards.layout(), 0));
  std::vector<std::unique_ptr<WorkerProcess>> workers(kWorkers);
  std::vector<uint64_t> incarnations(kWorkers, 0), sequences(kWorkers, 0);
  const auto replace = [&](int w) {
    // Of those that were forked for this worker, the next one.
    const auto spare = std::ranges::find_if(spares, [&](const auto& each) {
      return each != nullptr && each->worker() == static_cast<uint64_t>(w);
    });
    if (spare == spares.end()) return false;
    for (size_t rank = 0; incarnations[w] > 0 && rank < 2; ++rank)
      shards[rank].host().Order(protocol::Fence{WorkerId(w), Incarnation(incarnations[w])});
    workers[w] = std::move(*spare);
    shards.Admit(WorkerId(w), Incarnation(++incarnations[w]));
    sequences[w] = 0;
    workers[w]->Begin(shards.Options(), shards.layout());
    return true;
  };
  for (int w = 0; w < kWorkers; ++w) ASSERT_TRUE(replace(w));

  double expected = 0, momentum = 0;  // Of every parameter.
  uint64_t version = 0;
  int kills = 0, pushes = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int victim = static_cast<int>(random() % kWorkers);
    const bool kill_in_pull = random() % 2 == 0;
    const auto moment = std::chrono::microseconds(random() % 4000);
    const auto dies_in = [&](int w, bool is_pull) {
      return w == victim && is_pull == kill_in_pull ? moment : Task::kLives;
    };
    for (int w = 0; w < kWorkers; ++w)
      workers[w]->Tell({Task::kPull, version, incarnations[w], 0, dies_in(w, true)});
    for (int w = 0; w < kWorkers; ++w) {
      const std::optional<Outcome> pulled = workers[w]->Hear();
      if (!pulled) continue;
      ASSERT_EQ(pulled->code, 0);
      ASSERT_TRUE(pulled->is_whole) << "round " << round;
      // A push that counts twice, or not at all, makes 0.03 at least.
      ASSERT_NEAR(pulled->value, expected, 0.001) << "round " << round;
    }
    if (kill_in_pull) workers[victim]->AwaitDeath();
    std::vector<store::PushId> counted;
    double sum = 0;
    for (int w = 0; w < kWorkers; ++w) {
      if (w == victim && kill_in_pull) continue;
      workers[w]->Tell({Task::kPush, ++sequences[w], incarnations[w], static_cast<float>(w + 1) / 4,
                        dies_in(w, false)});
    }
    for (int w = 0; w < kWorkers; ++w) {
      if (w == victim && kill_in_pull) continue;
      std::optional<Outcome> pushed = workers[w]->Hear();
      if (!pushed) continue;
      ASSERT_EQ(pushed->code, 0);
      if (w != victim) {  // Once more, as after a lost answer.
        workers[w]->Tell({Task::kPush, sequences[w], incarnations[w], 100});
        const std::optional<Outcome> again = workers[w]->Hear();
        ASSERT_TRUE(again && again->code == 0);
        ASSERT_EQ(again->squared_norm, pushed->squared_norm);
      }
      counted.push_back(Push(w, sequences[w], incarnations[w]));
      sum += static_cast<double>(w + 1) / 4;
      ++pushes;
    }
    if (!kill_in_pull) workers[victim]->AwaitDeath();
    ASSERT_FALSE(counted.empty());
    // What Shards asks for: weight 2, scale 1/2, rate 1/8, momentum 0.9.
    shards.Commit(Version(++version), counted);
    momentum = 0.9 * momentum + sum;
    expected -= momentum / 8;
    ++kills;
    if (!replace(victim)) break;
  }
  EXPECT_GE(kills, 15);
  EXPECT_GE(pushes, 30);
}

}  // namespace
}  // namespace paceline::ps
