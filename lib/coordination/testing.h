// Defines Job, for tests: a Coordinator with a real policy and the memory of all its effects.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/coordination/carry_out.h"
#include "lib/coordination/coordinator.h"
#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/schemes/presets.h"

namespace paceline::coordination::testing {

// A model of one parameter with so many numbers.
inline store::Layout Model(int64_t numbers = 4) {
  return *store::Layout::Create(
      {{"w", {numbers}, store::DataType::kFloat32, store::TensorKind::kParameter}});
}

// A job of two that computes eight samples a step.
inline CoordinatorOptions TwoWorkers(uint64_t epochs = 2) {
  CoordinatorOptions options;
  options.workers_wanted = 2;
  options.workers_max = 4;
  options.global_batch_size = 8;
  options.epochs_max = epochs;
  return options;
}

class Job {
 public:
  explicit Job(CoordinatorOptions options, sync::Scheme scheme = sync::Scheme::kBsp)
      : coordinator(options), options_(options), scheme_(scheme) {}

  Coordinator coordinator;
  Time now{Seconds(100)};
  std::vector<Effect> effects;  // All there ever were, Observe included.
  std::unique_ptr<sync::Policy> policy;
  uint64_t samples = 16;  // Of the training set.

  void ChangeTo(sync::Scheme scheme) {
    scheme_ = scheme;
    Step(SpecChanged{options_.workers_wanted, options_.workers_min, true});
  }

  void Step(const Fact& fact) {
    std::vector<Effect> wanted;
    coordinator.Step(fact, now, wanted);
    CarryOut(wanted, [&](const Effect& effect) {
      effects.push_back(effect);
      if (const auto* opened = std::get_if<TrainingOpened>(&effect)) {
        first_version_ = opened->version;
        MakePolicy(std::max(opened->workers, 1u));
      }
      if (const auto* changed = std::get_if<PolicyChanged>(&effect)) {
        first_version_ = changed->version;
        MakePolicy(std::max(changed->workers, 1u));
      }
      if (const auto* observe = std::get_if<Observe>(&effect)) {
        Decided decided;
        policy->Observe(observe->event, now, decided.decisions);
        coordinator.Step(decided, now, wanted);
      }
    });
  }

  void Say(uint64_t shard, protocol::ShardMessage message) {
    Step(ShardSaid{ShardId(shard), std::move(message)});
  }
  void Hear(uint64_t connection, protocol::WorkerMessage message) {
    Step(WorkerSaid{ConnectionId(connection), std::move(message)});
  }
  void Register(uint64_t shard) { Say(shard, protocol::Register{ShardId(shard), "unix:/s"}); }
  void Join(uint64_t connection, uint64_t worker) {
    Hear(connection, protocol::Join{protocol::Role::kWorker, WorkerId(worker), Model(), samples});
  }
  void JoinEvaluator(uint64_t connection) {
    Hear(connection, protocol::Join{protocol::Role::kEvaluator, WorkerId(), Model(), 0});
  }

  // Joins (connection, worker) and brings the shards to Configured, or on to the opening of version
  // 0.
  void Configured(const std::vector<std::pair<uint64_t, uint64_t>>& joins) {
    for (uint64_t s = 0; s < options_.shards; ++s) Register(s);
    for (const auto& [connection, worker] : joins) Join(connection, worker);
    for (uint64_t s = 0; s < options_.shards; ++s)
      Say(s, protocol::Configured{options_.generation});
  }
  void Opened(const std::vector<std::pair<uint64_t, uint64_t>>& joins) {
    Configured(joins);
    for (uint64_t s = 0; s < options_.shards; ++s) {
      Say(s, protocol::Filled{WorkerId(joins.front().second), Incarnation(1)});
    }
    for (uint64_t s = 0; s < options_.shards; ++s) Say(s, protocol::Opened{});
  }

  // After a roll back: everybody there again, with what the shards are to open with.
  void OpenedAgain(const Generation& generation, bool is_restored,
                   const std::vector<std::pair<uint64_t, uint64_t>>& joins,
                   uint64_t incarnation = 2) {
    for (const auto& [connection, worker] : joins) Join(connection, worker);
    for (uint64_t s = 0; s < options_.shards; ++s) Say(s, protocol::Configured{generation});
    for (uint64_t s = 0; s < options_.shards && !is_restored; ++s)
      Say(s, protocol::Filled{WorkerId(joins.front().second), Incarnation(incarnation)});
    for (uint64_t s = 0; s < options_.shards; ++s) Say(s, protocol::Opened{});
    options_.generation = generation;
  }
  // Carries the checkpoint that was begun last to its end.
  void Keep() {
    const auto order = AllOrdered<protocol::SaveSlice>().back();
    for (uint64_t s = 0; s < options_.shards; ++s)
      Say(s, protocol::SliceSaved{order.checkpoint, {10 + s, "digest"}, ""});
    Step(CheckpointSaved{Last<CompleteCheckpoint>().checkpoint, ""});
  }

  void Committed(uint64_t shard, uint64_t version) {
    Say(shard, protocol::Committed{Version(version), {1.0, double(shard)}});
  }
  void CommittedEverywhere(uint64_t version) {
    for (uint64_t s = 0; s < options_.shards; ++s) Committed(s, version);
  }

  // What the connection was last released to, done.
  protocol::PushDone Answer(uint64_t connection) {
    const auto released = Sent<protocol::Released>(connection);
    protocol::PushDone done;
    done.generation = options_.generation;
    done.sequence = Sequence(static_cast<uint64_t>(SentCount<protocol::Released>(connection)));
    done.based_on = released.version;
    done.leases = {released.lease.id};
    for (const auto& range : released.lease.ranges)
      done.samples += static_cast<uint32_t>(range.size());
    done.gradient.loss = 0.5;
    return done;
  }
  void PushFor(uint64_t connection) { Hear(connection, Answer(connection)); }

  // Time passes in one leap, or beat by beat for those that live. Shards live, but for these; what
  // they have done by then is in `work`, and what they have written in `saved`.
  std::set<uint64_t> silent_shards;
  std::map<uint64_t, uint64_t> work, saved;
  void BeatShards() {
    for (uint64_t s = 0; s < options_.shards; ++s) {
      if (!silent_shards.contains(s)) Say(s, protocol::ShardHeartbeat{work[s], saved[s]});
    }
  }
  void Pass(Duration duration) {
    now += duration;
    BeatShards();
    Step(DeadlineReached{});
  }
  void PassBeating(Duration duration, const std::vector<uint64_t>& connections) {
    for (const Time end = now + duration; now < end;) {
      now += Seconds(1);
      for (const uint64_t connection : connections) Hear(connection, protocol::Heartbeat{});
      BeatShards();
      Step(DeadlineReached{});
    }
  }

  template <class E>
  std::optional<E> Find() const {
    for (auto effect = effects.rbegin(); effect != effects.rend(); ++effect) {
      if (const E* found = std::get_if<E>(&*effect)) return *found;
    }
    return std::nullopt;
  }
  template <class E>
  bool Has() const {
    return Find<E>().has_value();
  }
  template <class E>
  E Last() const {
    return Find<E>().value();
  }

  // Orders of kind M to that connection, oldest first.
  template <class M>
  std::vector<M> AllSent(uint64_t connection) const {
    std::vector<M> all;
    for (const Effect& effect : effects) {
      const auto* send = std::get_if<SendWorker>(&effect);
      if (send == nullptr || send->connection != ConnectionId(connection)) continue;
      if (const M* order = std::get_if<M>(&send->order)) all.push_back(*order);
    }
    return all;
  }
  template <class M>
  int SentCount(uint64_t connection) const {
    return static_cast<int>(AllSent<M>(connection).size());
  }
  template <class M>
  bool WasSent(uint64_t connection) const {
    return SentCount<M>(connection) > 0;
  }
  template <class M>
  M Sent(uint64_t connection) const {
    return AllSent<M>(connection).at(AllSent<M>(connection).size() - 1);
  }

  // Orders of kind M to shard 0, oldest first.
  template <class M>
  std::vector<M> AllOrdered(uint64_t shard = 0) const {
    std::vector<M> all;
    for (const Effect& effect : effects) {
      const auto* send = std::get_if<SendShard>(&effect);
      if (send == nullptr || send->shard != ShardId(shard)) continue;
      if (const M* order = std::get_if<M>(&send->order)) all.push_back(*order);
    }
    return all;
  }
  template <class M>
  bool Ordered() const {
    return !AllOrdered<M>().empty();
  }

  bool WasClosed(uint64_t connection) const {
    for (const Effect& effect : effects) {
      const auto* close = std::get_if<CloseWorker>(&effect);
      if (close != nullptr && close->connection == ConnectionId(connection)) return true;
    }
    return false;
  }
  std::string outcome() const { return coordinator.status().outcome; }

 private:
  void MakePolicy(uint32_t workers) {
    sync::PolicySpec spec;
    spec.scheme = scheme_;
    if (sync::IsKToBeSaid(scheme_)) spec.parts.quorum = {sync::QuorumChoice::Rule::kCount, 2};
    spec.global_batch_size = options_.global_batch_size;
    spec.workers_expected = workers;
    spec.is_deterministic = options_.is_deterministic;
    spec.first_version = first_version_;
    policy = *sync::MakePolicy(spec);
  }

  CoordinatorOptions options_;
  sync::Scheme scheme_;
  Version first_version_;
};

}  // namespace paceline::coordination::testing
