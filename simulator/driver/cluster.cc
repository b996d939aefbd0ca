#include "simulator/driver/cluster.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "lib/coordination/carry_out.h"
#include "lib/coordination/coordinator.h"
#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/trace/trace_recorder.h"
#include "simulator/driver/attendance.h"
#include "simulator/driver/injected.h"
#include "simulator/driver/world.h"

namespace paceline::simulator {
namespace {

using Kind = Happening::Kind;

constexpr uint32_t kSpareBudget = 64;  // As the server gives.
constexpr double kDivergedTimes = 1e3;

coordination::CoordinatorOptions CoordinationOf(const ClusterOptions& options) {
  coordination::CoordinatorOptions found;
  const auto workers = static_cast<uint32_t>(options.workers.size());
  const auto late = static_cast<uint32_t>(std::ranges::count_if(
      options.absences, [](const Absence& absence) { return absence.from_seconds <= 0; }));
  found.workers_wanted = found.workers_min = std::max(workers - std::min(late, workers), 1u);
  found.workers_max = workers;
  found.silent_after = Seconds(options.silent_seconds);
  found.global_batch_size = options.policy.global_batch_size;
  found.schedule = options.schedule;
  found.schedule.base = options.learning_rate;
  found.schedule.global_batch = options.policy.global_batch_size;
  found.seed = options.seed;
  return found;
}

class Cluster {
 public:
  Cluster(const ClusterOptions& options, std::vector<chaos::Delays> delays);
  StatusOr<Life> Run();

 private:
  // --- What decides: the server's own.
  void Tell(coordination::Fact fact);
  void Do(coordination::Effect effect);
  void DoAll();
  void Decide(const sync::Event& event);
  void MakePolicy(uint32_t workers, Version version);

  void Obey(coordination::ConnectionId session, const protocol::WorkerOrder& order);

  // --- The shard.
  void Obey(const protocol::ShardOrder& order);
  void Answer(Duration after, protocol::ShardMessage message);
  void Dropped(WorkerId worker, uint64_t pushes);
  void Count(const protocol::CommitAll& commit);

  void Happen(const Happening& happening);
  void Published(Version version);
  bool IsOver();

  const ClusterOptions& options_;
  World world_;
  Attendance workers_;
  coordination::Coordinator coordinator_;
  std::unique_ptr<sync::Policy> policy_;
  std::vector<coordination::Effect> effects_;
  coordination::Fact decided_ = coordination::Decided{};  // On one event; its memory is used again.
  std::deque<protocol::ShardMessage> answers_;
  std::deque<uint32_t> pushes_in_;  // Versions that are being committed.
  Time commits_end_{};              // Of those that were asked for: one follows the other.
  const double diverged_at_;        // That loss.
  double loss_ = 0;                 // As it was computed last...
  std::optional<Time> loss_at_;     // ...when...
  uint64_t pushes_since_;           // ...and what was committed since.
  Status problem_ = OkStatus();
};

Cluster::Cluster(const ClusterOptions& options, std::vector<chaos::Delays> delays)
    : options_(options),
      world_(options, std::move(delays)),
      workers_(world_, [this](coordination::Fact fact) { Tell(std::move(fact)); }),
      coordinator_(CoordinationOf(options)),
      diverged_at_(kDivergedTimes * world_.objective.Loss(*world_.shard.newest().values)),
      pushes_since_(options.loss_every_pushes) {}

StatusOr<Life> Cluster::Run() {
  Tell(coordination::ShardSaid{ShardId(0), protocol::Register{ShardId(0), "virtual"}});
  workers_.Begin();
  while (problem_.ok() && !IsOver()) {
    const std::optional<Time> deadline = policy_ ? policy_->Deadline() : std::nullopt;
    const std::optional<Time> next = world_.queue.NextAt();
    if (!deadline && !next)
      return Internal("all stands still at {} s", ToSeconds(world_.now.time_since_epoch()));
    if (deadline && (!next || *deadline <= *next)) {
      world_.now = std::max(world_.now, *deadline);
      Decide(sync::DeadlineReached{});
      DoAll();
      continue;
    }
    const auto [at, happening] = world_.queue.Take();
    world_.now = at;
    ++world_.life.happenings;
    Happen(happening);
    if (!world_.objective.status().ok()) return world_.objective.status();
  }
  if (!problem_.ok()) return problem_;
  world_.life.seconds = ToSeconds(world_.now.time_since_epoch());
  return std::move(world_.life);
}

void Cluster::Happen(const Happening& happening) {
  switch (happening.kind) {
    case Kind::kLinkFree:
      return world_.wires.LinkFree(world_.now, happening);
    case Kind::kAnswered: {
      protocol::ShardMessage message = std::move(answers_.front());
      answers_.pop_front();
      if (std::holds_alternative<protocol::Committed>(message)) world_.shard.Publish();
      return Tell(coordination::ShardSaid{ShardId(0), std::move(message)});
    }
    case Kind::kComputed:
    case Kind::kGivenUp:
    case Kind::kArrived:
    case Kind::kCrashes:
    case Kind::kMissed:
    case Kind::kJoins:
      return workers_.Happen(happening);
  }
}

bool Cluster::IsOver() {
  if (world_.life.versions.empty()) return false;
  const VersionFacts& last = world_.life.versions.back();
  const auto over = [this](Ending why) {
    world_.life.ending = why;
    return true;
  };
  if (options_.target_loss > 0 && last.loss <= options_.target_loss) return over(Ending::kTarget);
  if (!(last.loss < diverged_at_)) return over(Ending::kDiverged);
  if (options_.steps_max > 0 && world_.life.versions.size() >= options_.steps_max)
    return over(Ending::kSteps);
  if (options_.epochs_max > 0 && world_.life.epochs >= options_.epochs_max)
    return over(Ending::kSteps);
  if (options_.seconds_max > 0 && ToSeconds(world_.now.time_since_epoch()) >= options_.seconds_max)
    return over(Ending::kSeconds);
  return false;
}

// --- What decides.

void Cluster::Tell(coordination::Fact fact) {
  coordinator_.Step(fact, world_.now, effects_);
  DoAll();
  if (policy_ != nullptr && policy_->WantsSpare()) {
    Decide(sync::Spare{kSpareBudget});
    DoAll();
  }
}

void Cluster::DoAll() {
  coordination::CarryOut(effects_, [this](coordination::Effect effect) {
    if (problem_.ok()) Do(std::move(effect));
  });
}

void Cluster::Do(coordination::Effect effect) {
  if (const auto* observe = std::get_if<coordination::Observe>(&effect)) {
    Decide(observe->event);
  } else if (const auto* to_worker = std::get_if<coordination::SendWorker>(&effect)) {
    Obey(to_worker->connection, to_worker->order);
  } else if (const auto* to_shard = std::get_if<coordination::SendShard>(&effect)) {
    Obey(to_shard->order);
  } else if (const auto* configure = std::get_if<coordination::ConfigureShards>(&effect)) {
    Obey(protocol::Configure{.generation = configure->generation});
  } else if (const auto* opened = std::get_if<coordination::TrainingOpened>(&effect)) {
    MakePolicy(opened->workers, opened->version);
  } else if (const auto* published = std::get_if<coordination::VersionPublished>(&effect)) {
    Published(published->version);
  } else if (std::holds_alternative<coordination::SamplePoisoned>(effect)) {
    ++world_.life.poisoned;
  } else if (std::holds_alternative<coordination::EpochCompleted>(effect)) {
    ++world_.life.epochs;
  } else if (std::holds_alternative<coordination::RolledBack>(effect)) {
    // Numbers that are not finite: there is nothing to go back to.
    world_.life.versions.push_back({ToSeconds(world_.now.time_since_epoch()), std::nan(""), 0});
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
  std::vector<sync::Decision>& decisions = std::get<coordination::Decided>(decided_).decisions;
  decisions.clear();
  policy_->Observe(event, world_.now, decisions);
  coordinator_.Step(decided_, world_.now, effects_);
}

void Cluster::Published(Version version) {
  const uint32_t pushes = pushes_in_.front();
  pushes_in_.pop_front();
  pushes_since_ += pushes;
  const bool is_due = !loss_at_ || world_.now - *loss_at_ >= Seconds(options_.loss_every_seconds);
  if (is_due && pushes_since_ >= options_.loss_every_pushes) {
    loss_ = world_.objective.Loss(*world_.shard.Get(version).values);
    loss_at_ = world_.now;
    pushes_since_ = 0;
  }
  if (options_.watch) {
    options_.watch({.what = Occurrence::What::kPublished,
                    .worker = 0,
                    .from = world_.now,
                    .to = world_.now,
                    .version = version,
                    .pushes = pushes});
  }
  world_.life.versions.push_back({ToSeconds(world_.now.time_since_epoch()), loss_, pushes});
}

// What is sent to a process that has ended reaches nobody.
void Cluster::Obey(coordination::ConnectionId session, const protocol::WorkerOrder& order) {
  VirtualWorker* const worker = workers_.Find(session);
  if (worker == nullptr) return;
  if (const auto* released = std::get_if<protocol::Released>(&order)) {
    worker->Release(*released);
  } else if (const auto* continued = std::get_if<protocol::Continued>(&order)) {
    worker->Continue(*continued);
  } else if (const auto* offered = std::get_if<protocol::Offered>(&order)) {
    worker->Offer(offered->version);
  } else if (const auto* interrupted = std::get_if<protocol::Interrupted>(&order)) {
    worker->Interrupt(interrupted->sequence);
  } else if (const auto* admitted = std::get_if<protocol::Admitted>(&order)) {
    worker->Admit(admitted->incarnation);
  } else if (std::holds_alternative<protocol::Fill>(order)) {
    Answer({}, protocol::Filled{WorkerId(worker->index()), worker->incarnation()});
  } else if (const auto* refused = std::get_if<protocol::Refused>(&order)) {
    if (refused->reason == protocol::RefuseReason::kAlreadyJoined)
      return workers_.TryAgain(session);
    problem_ = Internal("worker {} was refused: {}", worker->index(), refused->detail);
  }
}

// --- The shard.

void Cluster::Answer(Duration after, protocol::ShardMessage message) {
  answers_.push_back(std::move(message));
  world_.queue.Put(world_.now + after, {.kind = Kind::kAnswered});
}

void Cluster::Obey(const protocol::ShardOrder& order) {
  if (const auto* configure = std::get_if<protocol::Configure>(&order)) {
    Answer({}, protocol::Configured{configure->generation});
  } else if (std::holds_alternative<protocol::Open>(order)) {
    Answer({}, protocol::Opened{});
  } else if (const auto* drop = std::get_if<protocol::DropOrder>(&order)) {
    Dropped(drop->push.worker, 1);
    world_.samples.erase(drop->push);
    world_.life.wasted_seconds += world_.shard.Drop(drop->push);
  } else if (const auto* accumulate = std::get_if<protocol::AccumulateOrder>(&order)) {
    world_.shard.Accumulate(accumulate->push);
  } else if (const auto* fence = std::get_if<protocol::Fence>(&order)) {
    const VirtualShard::Fenced fenced = world_.shard.Fence(fence->worker, fence->incarnation);
    Dropped(fence->worker, fenced.pushes);
    world_.life.wasted_seconds += fenced.seconds;
  } else if (const auto* commit = std::get_if<protocol::CommitAll>(&order)) {
    pushes_in_.push_back(static_cast<uint32_t>(commit->pushes.size()));
    if (options_.counted) Count(*commit);
    commits_end_ = std::max(commits_end_, world_.now) + Seconds(options_.commit_seconds);
    Answer(commits_end_ - world_.now, world_.shard.Commit(*commit));
  }
}

void Cluster::Dropped(WorkerId worker, uint64_t pushes) {
  world_.life.dropped += pushes;
  if (!options_.watch || pushes == 0) return;
  options_.watch({.what = Occurrence::What::kDropped,
                  .worker = static_cast<uint32_t>(worker.value()),
                  .from = world_.now,
                  .to = world_.now,
                  .version = {},
                  .pushes = pushes});
}

void Cluster::Count(const protocol::CommitAll& commit) {
  for (const protocol::AccumulateOrder& one : commit.pushes) {
    for (const protocol::SampleRange& range : world_.samples[one.push]) options_.counted(range);
    world_.samples.erase(one.push);
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

StatusOr<Life> Simulate(const ClusterOptions& options) {
  PACELINE_ASSIGN_OR_RETURN(std::vector<chaos::Delays> delays, InjectedDelays(options));
  return Cluster(options, std::move(delays)).Run();
}

}  // namespace paceline::simulator
