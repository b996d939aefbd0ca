#include "simulator/driver/cluster.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "lib/coordination/coordinator.h"
#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/trace/trace_recorder.h"
#include "simulator/driver/virtual_worker.h"
#include "simulator/kernel/event_queue.h"

namespace paceline::simulator {
namespace {

using coordination::ConnectionId;
using Doing = VirtualWorker::Doing;
using Kind = Happening::Kind;

constexpr uint64_t kTrainSamples = 1'000'000'000'000;  // No epoch ends.
constexpr uint32_t kSpareBudget = 64;                  // As the server gives.
constexpr Duration kNever = std::chrono::hours(24 * 365 * 50);
constexpr double kDivergedTimes = 1e3;

coordination::CoordinatorOptions CoordinationOf(const ClusterOptions& options) {
  coordination::CoordinatorOptions found;
  found.workers_wanted = found.workers_min = found.workers_max =
      static_cast<uint32_t>(options.workers.size());
  found.global_batch_size = options.policy.global_batch_size;
  found.schedule.base = options.learning_rate;
  found.schedule.global_batch = options.policy.global_batch_size;
  found.seed = options.seed;
  return found;
}

store::Layout LayoutOf(const ClusterOptions& options) {
  return *store::Layout::Create({{"w",
                                  {static_cast<int64_t>(options.objective.dimensions)},
                                  store::DataType::kFloat32,
                                  store::TensorKind::kParameter}});
}

class Cluster {
 public:
  explicit Cluster(const ClusterOptions& options);
  StatusOr<Life> Run();

 private:
  // --- What decides: the server's own.
  void Tell(coordination::Fact fact);
  void Do(coordination::Effect effect);
  void DoAll();
  void Decide(const sync::Event& event);
  void MakePolicy(uint32_t workers, Version version);

  // --- Workers.
  void Say(uint32_t index, protocol::WorkerMessage message);
  void Obey(uint32_t index, const protocol::WorkerOrder& order);
  void Begin(uint32_t index, const protocol::Released& released);
  void GiveUp(uint32_t index, Sequence sequence);
  void GoOn(uint32_t index);
  void Fetch(uint32_t index, Copy copy);
  void Computed(uint32_t index);
  void Pulled(uint32_t index);
  void Pushed(uint32_t index);
  static Duration Spend(VirtualWorker& worker, Duration sync::Timing::*part, Time now);

  // --- The shard.
  void Obey(const protocol::ShardOrder& order);
  void Answer(Duration after, protocol::ShardMessage message);

  void Happen(const Happening& happening);
  void Published(Version version);
  bool IsOver();

  const ClusterOptions& options_;
  const Quadratic objective_;
  coordination::Coordinator coordinator_;
  std::unique_ptr<sync::Policy> policy_;
  std::vector<coordination::Effect> effects_;
  EventQueue<Happening> queue_;
  Time now_{};
  std::vector<VirtualWorker> workers_;
  Wires wires_;
  VirtualShard shard_;
  std::deque<protocol::ShardMessage> answers_;
  std::deque<uint32_t> pushes_in_;  // Versions that are being committed.
  Status problem_ = OkStatus();
  Life life_;
};

Cluster::Cluster(const ClusterOptions& options)
    : options_(options),
      objective_(options.objective),
      coordinator_(CoordinationOf(options)),
      wires_(options.network, options.workers.size(), queue_),
      shard_(objective_.Start(), options.momentum) {
  workers_.reserve(options.workers.size());
  for (uint64_t i = 0; i < options.workers.size(); ++i)
    workers_.emplace_back(options.workers[i], options.seed, i);
}

StatusOr<Life> Cluster::Run() {
  Tell(coordination::ShardSaid{ShardId(0), protocol::Register{ShardId(0), "virtual"}});
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    Say(i, protocol::Join{protocol::Role::kWorker, WorkerId(i), LayoutOf(options_), kTrainSamples,
                          "CPU"});
  }
  while (problem_.ok() && !IsOver()) {
    const std::optional<Time> deadline = policy_ ? policy_->Deadline() : std::nullopt;
    const std::optional<Time> next = queue_.NextAt();
    if (!deadline && !next)
      return Internal("all stands still at {} s", ToSeconds(now_.time_since_epoch()));
    if (deadline && (!next || *deadline <= *next)) {
      now_ = std::max(now_, *deadline);
      Decide(sync::DeadlineReached{});
      DoAll();
      continue;
    }
    const auto [at, happening] = queue_.Take();
    now_ = at;
    ++life_.happenings;
    Happen(happening);
  }
  if (!problem_.ok()) return problem_;
  life_.seconds = ToSeconds(now_.time_since_epoch());
  return std::move(life_);
}

void Cluster::Happen(const Happening& happening) {
  switch (happening.kind) {
    case Kind::kLinkFree:
      return wires_.LinkFree(now_, happening);
    case Kind::kArrived:
      return happening.direction == Direction::kPull ? Pulled(happening.worker)
                                                     : Pushed(happening.worker);
    case Kind::kAnswered: {
      protocol::ShardMessage message = std::move(answers_.front());
      answers_.pop_front();
      return Tell(coordination::ShardSaid{ShardId(0), std::move(message)});
    }
    case Kind::kComputed:
    case Kind::kGivenUp:
      break;
  }
  VirtualWorker& worker = workers_[happening.worker];
  if (worker.turn != happening.turn) return;
  if (happening.kind == Kind::kComputed) return Computed(happening.worker);
  Say(happening.worker,
      protocol::Abandoned{.sequence = worker.sequence, .leases = {worker.lease.id}});
}

bool Cluster::IsOver() {
  if (life_.versions.empty()) return false;
  const VersionFacts& last = life_.versions.back();
  const auto over = [this](Ending why) {
    life_.ending = why;
    return true;
  };
  if (options_.target_loss > 0 && last.loss <= options_.target_loss) return over(Ending::kTarget);
  if (!(last.loss < kDivergedTimes * objective_.Loss(objective_.Start())))
    return over(Ending::kDiverged);
  if (options_.steps_max > 0 && life_.versions.size() >= options_.steps_max)
    return over(Ending::kSteps);
  if (options_.seconds_max > 0 && ToSeconds(now_.time_since_epoch()) >= options_.seconds_max)
    return over(Ending::kSeconds);
  return false;
}

// --- What decides.

void Cluster::Tell(coordination::Fact fact) {
  coordinator_.Step(fact, now_, effects_);
  DoAll();
  if (policy_ != nullptr && policy_->WantsSpare()) {
    Decide(sync::Spare{kSpareBudget});
    DoAll();
  }
}

// What an effect leads to stands behind those that are there.
void Cluster::DoAll() {
  for (size_t i = 0; i < effects_.size() && problem_.ok(); ++i) Do(std::move(effects_[i]));
  effects_.clear();
}

void Cluster::Do(coordination::Effect effect) {
  if (const auto* observe = std::get_if<coordination::Observe>(&effect)) {
    Decide(observe->event);
  } else if (const auto* to_worker = std::get_if<coordination::SendWorker>(&effect)) {
    Obey(static_cast<uint32_t>(to_worker->connection.value() - 1), to_worker->order);
  } else if (const auto* to_shard = std::get_if<coordination::SendShard>(&effect)) {
    Obey(to_shard->order);
  } else if (const auto* configure = std::get_if<coordination::ConfigureShards>(&effect)) {
    Obey(protocol::Configure{.generation = configure->generation});
  } else if (const auto* opened = std::get_if<coordination::TrainingOpened>(&effect)) {
    MakePolicy(opened->workers, opened->version);
  } else if (const auto* published = std::get_if<coordination::VersionPublished>(&effect)) {
    Published(published->version);
  } else if (std::holds_alternative<coordination::RolledBack>(effect)) {
    // Numbers that are not finite: there is nothing to go back to.
    life_.versions.push_back({ToSeconds(now_.time_since_epoch()), std::nan(""), 0});
  }
}

void Cluster::MakePolicy(uint32_t workers, Version version) {
  sync::PolicySpec spec = options_.policy;
  spec.workers_expected = workers;
  spec.first_version = version;
  StatusOr<std::unique_ptr<sync::Policy>> made = sync::MakePolicy(spec);
  if (!made.ok()) {
    problem_ = made.status();
    return;
  }
  policy_ = std::make_unique<sync::CheckedPolicy>(
      *std::move(made), spec, [this](const std::string& violation) {
        problem_ = Internal("the policy broke its contract: {}", violation);
      });
  if (options_.trace)
    policy_ = std::make_unique<sync::TraceRecorder>(std::move(policy_), spec, "", options_.trace);
}

void Cluster::Decide(const sync::Event& event) {
  coordination::Decided decided;
  policy_->Observe(event, now_, decided.decisions);
  coordinator_.Step(decided, now_, effects_);
}

void Cluster::Published(Version version) {
  life_.versions.push_back({ToSeconds(now_.time_since_epoch()),
                            objective_.Loss(*shard_.Get(version).values), pushes_in_.front()});
  pushes_in_.pop_front();
}

// --- Workers.

void Cluster::Say(uint32_t index, protocol::WorkerMessage message) {
  Tell(coordination::WorkerSaid{ConnectionId(index + 1), std::move(message)});
}

void Cluster::Obey(uint32_t index, const protocol::WorkerOrder& order) {
  if (const auto* released = std::get_if<protocol::Released>(&order)) {
    Begin(index, *released);
  } else if (const auto* interrupted = std::get_if<protocol::Interrupted>(&order)) {
    GiveUp(index, interrupted->sequence);
  } else if (std::holds_alternative<protocol::Offered>(order)) {
    // Offers come with the commit that they are of, and coordination lets those go that come before
    // it is published.
    problem_ =
        Internal("a worker was offered a version while it computed, which is not simulated yet");
  } else if (std::holds_alternative<protocol::Fill>(order)) {
    Answer({}, protocol::Filled{WorkerId(index), Incarnation(1)});
  } else if (const auto* refused = std::get_if<protocol::Refused>(&order)) {
    problem_ = Internal("worker {} was refused: {}", index, refused->detail);
  }
}

void Cluster::Begin(uint32_t index, const protocol::Released& released) {
  if (released.assignment.pacing != sync::Pacing::kWait) {
    problem_ = InvalidArgument(
        "workers that go on from a copy of their own (WBSP, PSPlus) are not simulated yet");
    return;
  }
  VirtualWorker& worker = workers_[index];
  Spend(worker, &sync::Timing::wait, now_);
  worker.sequence = worker.sequence.Next();
  worker.lease = released.lease;
  worker.samples = 0;
  for (const protocol::SampleRange& range : worker.lease.ranges)
    worker.samples += static_cast<uint32_t>(range.size());
  worker.base = released.exactness == sync::Exactness::kExact ? shard_.Get(released.version)
                                                              : shard_.newest();
  GoOn(index);
}

// With the pull that its step needs, or with computing.
void Cluster::GoOn(uint32_t index) {
  VirtualWorker& worker = workers_[index];
  worker.doing = Doing::kPulling;
  if (worker.has && worker.has->version == worker.base.version) {
    worker.doing = Doing::kComputing;
    queue_.Put(now_ + worker.computing.Step(now_, worker.samples),
               {.kind = Kind::kComputed, .worker = index, .turn = worker.turn});
  } else if (!worker.fetching) {
    Fetch(index, worker.base);
  }
}

void Cluster::Fetch(uint32_t index, Copy copy) {
  workers_[index].fetching = std::move(copy);
  wires_.Send(now_, index, Direction::kPull);
}

void Cluster::Pulled(uint32_t index) {
  VirtualWorker& worker = workers_[index];
  worker.has = std::exchange(worker.fetching, std::nullopt);
  if (worker.doing == Doing::kPulling) {
    life_.transfer_seconds += ToSeconds(Spend(worker, &sync::Timing::communication, now_));
    GoOn(index);
  }
}

void Cluster::GiveUp(uint32_t index, Sequence sequence) {
  VirtualWorker& worker = workers_[index];
  const bool is_in_work = worker.doing == Doing::kPulling || worker.doing == Doing::kComputing;
  if (!is_in_work || worker.sequence != sequence) return;
  const bool was_computing = worker.doing == Doing::kComputing;
  const double seconds = ToSeconds(
      Spend(worker, was_computing ? &sync::Timing::compute : &sync::Timing::communication, now_));
  (was_computing ? life_.compute_seconds : life_.transfer_seconds) += seconds;
  if (was_computing) life_.wasted_seconds += seconds;
  ++life_.interrupted;
  worker.timing = {};  // As lib/worker: what came to nothing says nothing of the next step's speed.
  worker.doing = Doing::kWaiting;
  ++worker.turn;
  queue_.Put(now_ + Seconds(options_.interrupt_seconds),
             {.kind = Kind::kGivenUp, .worker = index, .turn = worker.turn});
}

void Cluster::Computed(uint32_t index) {
  VirtualWorker& worker = workers_[index];
  life_.compute_seconds += ToSeconds(Spend(worker, &sync::Timing::compute, now_));
  worker.doing = Doing::kPushing;
  wires_.Send(now_, index, Direction::kPush);
}

void Cluster::Pushed(uint32_t index) {
  VirtualWorker& worker = workers_[index];
  const Duration pushing = Spend(worker, &sync::Timing::communication, now_);
  life_.transfer_seconds += ToSeconds(pushing);
  ++life_.pushes;
  worker.doing = Doing::kWaiting;
  Values gradient;
  objective_.Gradient(*worker.base.values, worker.samples, worker.chance, gradient);
  protocol::PushDone done;
  done.generation = coordination::CoordinatorOptions().generation;
  done.sequence = worker.sequence;
  done.based_on = worker.base.version;
  done.samples = worker.samples;
  done.leases = {worker.lease.id};
  done.timing = std::exchange(worker.timing, {});
  done.gradient = {.loss = objective_.Loss(*worker.base.values),
                   .squared_norm = SquaredNorm(gradient)};
  done.gradient.is_finite = std::isfinite(done.gradient.squared_norm);
  done.shard_time = pushing;
  worker.pushed_seconds = ToSeconds(done.timing.compute);
  shard_.Stage(WorkerId(index), worker.sequence, std::move(gradient));
  Say(index, std::move(done));
}

Duration Cluster::Spend(VirtualWorker& worker, Duration sync::Timing::*part, Time now) {
  const Duration spent = now - worker.since;
  worker.timing.*part += spent;
  worker.since = now;
  return spent;
}

// --- The shard.

void Cluster::Answer(Duration after, protocol::ShardMessage message) {
  answers_.push_back(std::move(message));
  queue_.Put(now_ + after, {.kind = Kind::kAnswered});
}

void Cluster::Obey(const protocol::ShardOrder& order) {
  if (const auto* configure = std::get_if<protocol::Configure>(&order)) {
    Answer({}, protocol::Configured{configure->generation});
  } else if (std::holds_alternative<protocol::Open>(order)) {
    Answer({}, protocol::Opened{});
  } else if (const auto* drop = std::get_if<protocol::DropOrder>(&order)) {
    ++life_.dropped;
    life_.wasted_seconds += workers_[drop->push.worker.value()].pushed_seconds;
    shard_.Drop(drop->push);
  } else if (const auto* commit = std::get_if<protocol::CommitAll>(&order)) {
    pushes_in_.push_back(static_cast<uint32_t>(commit->pushes.size()));
    Answer(Seconds(options_.commit_seconds), shard_.Commit(*commit));
  }
}

}  // namespace

std::string_view ToString(Ending ending) {
  switch (ending) {
    case Ending::kSteps:
      return "steps";
    case Ending::kSeconds:
      return "seconds";
    case Ending::kTarget:
      return "target";
    case Ending::kDiverged:
      return "diverged";
  }
  return "";
}

StatusOr<Life> Simulate(const ClusterOptions& options) { return Cluster(options).Run(); }

}  // namespace paceline::simulator
