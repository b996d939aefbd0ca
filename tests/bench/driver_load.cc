#include "tests/bench/driver_load.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include "lib/coordination/carry_out.h"
#include "lib/coordination/coordinator.h"
#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/trace/trace_recorder.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/trace_file.h"
#include "ps-server/coordinator/driver.h"
#include "tests/bench/driver_peers.h"

namespace paceline::bench {
namespace {

using telemetry::SteadyNow;

constexpr uint32_t kSamplesPerWorker = 64;
constexpr uint32_t kSpareBudget = 64;  // As the driver gives, both.
constexpr int kSpareShare = 10;
constexpr Duration kTick = std::chrono::milliseconds(1);
constexpr int kTicksInVainMax = 5000;

double ProcessSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

[[noreturn]] void GiveUp(const std::string& why) {
  std::cerr << why << "\n";
  std::exit(2);
}

sync::PolicySpec SpecOf(const DriverLoad& load) {
  auto spec = sync::ParsePolicySpec(fmt::format("{} batch={} workers={}", load.scheme,
                                                load.workers * kSamplesPerWorker, load.workers));
  if (!spec.ok()) GiveUp(Message(spec.status()));
  return *spec;
}

std::unique_ptr<sync::Policy> MakeChecked(sync::PolicySpec spec, uint32_t workers,
                                          Version version) {
  spec.workers_expected = workers;
  spec.first_version = version;
  return std::make_unique<sync::CheckedPolicy>(
      sync::MakePolicy(spec).value(), spec,
      [](const std::string& violation) { GiveUp("contract: " + violation); });
}

coordination::CoordinatorOptions CoordinationOf(const DriverLoad& load) {
  coordination::CoordinatorOptions options;
  options.workers_wanted = options.workers_min = options.workers_max = load.workers;
  options.global_batch_size = load.workers * kSamplesPerWorker;
  options.schedule.base = 0.01;
  return options;
}

// Where facts go, and who sends what follows from them to the peers.
class Target {
 public:
  virtual ~Target() = default;
  virtual void Tell(coordination::Fact fact) = 0;
};

class WholeDriver final : public Target {
 public:
  WholeDriver(const DriverLoad& load, DriverPeers& peers)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("bench_policy.{}.trace", getpid())) {
    auto opened = telemetry::TraceFile::Open(path_);
    if (!opened.ok()) GiveUp(Message(opened.status()));
    trace_ = *std::move(opened);
    driver_ = std::make_unique<ps::Driver>(
        ps::DriverOptions{.coordination = CoordinationOf(load),
                          .optimizer = optim::SgdOptions{},
                          .fetch = [](const Generation&, const auto&,
                                      Version) { return std::vector<std::byte>(); },
                          .save = [](const auto&, const auto&, const auto&) { return OkStatus(); },
                          .make_policy = [this, spec = SpecOf(load)](
                                             uint32_t workers, Version version,
                                             const std::string&) -> std::unique_ptr<sync::Policy> {
                            return std::make_unique<sync::TraceRecorder>(
                                MakeChecked(spec, workers, version), spec, "",
                                [this](std::string_view line) { trace_->Append(line); });
                          }},
        &metrics_);
    (void)driver_->ShardConnected({ShardId(0), "unix:"}, std::make_shared<Shard>(peers));
    for (uint32_t worker = 0; worker < load.workers; ++worker)
      (void)driver_->WorkerConnected(std::make_shared<Worker>(peers, worker));
  }
  ~WholeDriver() override {
    driver_->Stop();
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  void Tell(coordination::Fact fact) override {
    if (auto* worker = std::get_if<coordination::WorkerSaid>(&fact)) {
      driver_->WorkerSaid(worker->connection, std::move(worker->message));
    } else if (auto* shard = std::get_if<coordination::ShardSaid>(&fact)) {
      driver_->ShardSaid(shard->shard, std::move(shard->message));
    }
  }

 private:
  class Worker final : public ps::WorkerConnection {
   public:
    Worker(DriverPeers& peers, uint64_t index) : peers_(peers), index_(index) {}
    void Send(const protocol::WorkerOrder& order) override { peers_.Sent(index_, order); }
    void Close() override {}

   private:
    DriverPeers& peers_;
    const uint64_t index_;
  };
  class Shard final : public ps::ShardConnection {
   public:
    explicit Shard(DriverPeers& peers) : peers_(peers) {}
    void Send(const protocol::ShardOrder& order) override { peers_.Sent(order); }
    void Close() override {}

   private:
    DriverPeers& peers_;
  };

  const std::string path_;
  std::unique_ptr<telemetry::TraceFile> trace_;
  telemetry::Metrics registry_;
  ps::DriverMetrics metrics_{&registry_};
  std::unique_ptr<ps::Driver> driver_;
};

class Bare final : public Target {
 public:
  Bare(const DriverLoad& load, DriverPeers& peers)
      : spec_(SpecOf(load)), peers_(peers), coordinator_(CoordinationOf(load)) {
    Tell(coordination::ShardSaid{ShardId(0), protocol::Register{ShardId(0), "unix:"}});
  }

  void Tell(coordination::Fact fact) override {
    coordinator_.Step(fact, SteadyNow(), effects_);
    DoAll();
    if (policy_ == nullptr || !policy_->WantsSpare() || SteadyNow() < spare_from_) return;
    const Time begin = SteadyNow();
    Decide(sync::Spare{kSpareBudget});
    DoAll();
    const Time end = SteadyNow();
    spare_from_ = end + (kSpareShare - 1) * (end - begin);
  }

 private:
  void DoAll() {
    coordination::CarryOut(effects_, [this](const coordination::Effect& effect) {
      if (const auto* observe = std::get_if<coordination::Observe>(&effect)) {
        Decide(observe->event);
      } else if (const auto* worker = std::get_if<coordination::SendWorker>(&effect)) {
        peers_.Sent(worker->connection.value() - 1, worker->order);
      } else if (const auto* shard = std::get_if<coordination::SendShard>(&effect)) {
        peers_.Sent(shard->order);
      } else if (const auto* configure = std::get_if<coordination::ConfigureShards>(&effect)) {
        peers_.Sent(protocol::Configure{.generation = configure->generation});
      } else if (const auto* opened = std::get_if<coordination::TrainingOpened>(&effect)) {
        policy_ = MakeChecked(spec_, opened->workers, opened->version);
      }
    });
  }
  void Decide(const sync::Event& event) {
    coordination::Decided decided;
    const Time now = SteadyNow();
    policy_->Observe(event, now, decided.decisions);
    coordinator_.Step(decided, now, effects_);
  }

  const sync::PolicySpec spec_;
  DriverPeers& peers_;
  coordination::Coordinator coordinator_;
  std::unique_ptr<sync::Policy> policy_;
  std::vector<coordination::Effect> effects_;
  Time spare_from_{};
};

// Tells facts at the load's rate.
class Paced {
 public:
  Paced(const DriverLoad& load, DriverPeers& peers, Target& target)
      : load_(load), peers_(peers), target_(target) {}

  uint64_t RunFor(double seconds) {
    const Time begin = SteadyNow();
    uint64_t told = 0;
    double beats = 0;
    for (double elapsed = 0; elapsed < seconds;) {
      std::this_thread::sleep_for(kTick);  // sleeps: facts come at the load's rate
      elapsed = ToSeconds(SteadyNow() - begin);
      const auto due = static_cast<uint64_t>(elapsed * load_.facts_per_second);
      while (told < due) {
        if (ToSeconds(SteadyNow() - begin) > seconds) return told;
        for (; beats < elapsed * load_.workers; ++beats, ++told) Beat();
        auto fact = peers_.Next();
        // What the driver's own thread is at work on is answered in a moment.
        if (!fact && ++ticks_in_vain_ > kTicksInVainMax)
          GiveUp("nobody can push any more: " + load_.scheme);
        if (!fact) break;
        ticks_in_vain_ = 0;
        target_.Tell(*std::move(fact));
        ++told;
      }
    }
    return told;
  }

 private:
  void Beat() {
    if (next_ == 0) target_.Tell(DriverPeers::ShardHeartbeat(++work_));
    target_.Tell(peers_.Heartbeat(next_));
    next_ = (next_ + 1) % load_.workers;
  }

  const DriverLoad& load_;
  DriverPeers& peers_;
  Target& target_;
  uint64_t next_ = 0;
  uint64_t work_ = 0;
  int ticks_in_vain_ = 0;
};

}  // namespace

DriverCost MeasureDriver(const DriverLoad& load) {
  DriverPeers peers(load.workers);
  std::unique_ptr<Target> target;
  if (load.is_whole) {
    target = std::make_unique<WholeDriver>(load, peers);
  } else {
    target = std::make_unique<Bare>(load, peers);
  }
  while (auto fact = peers.NextOfBirth()) target->Tell(*std::move(fact));
  Paced paced(load, peers, *target);
  paced.RunFor(load.seconds / 4);
  const Time began = SteadyNow();
  const double before = ProcessSeconds();
  const auto facts = static_cast<double>(paced.RunFor(load.seconds));
  const double used = ProcessSeconds() - before;
  const double seconds = ToSeconds(SteadyNow() - began);
  return {
      .core = used / seconds, .fact_us = used / facts * 1e6, .facts_per_second = facts / seconds};
}

}  // namespace paceline::bench
