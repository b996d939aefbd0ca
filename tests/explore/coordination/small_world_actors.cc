#include <algorithm>
#include <utility>

#include "lib/coordination/carry_out.h"
#include "lib/coordination/testing.h"
#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/policy_factory.h"
#include "tests/explore/coordination/small_world.h"

namespace paceline::coordination::testing {
namespace {

constexpr int kIdleLeapsMax = 30;

uint32_t Samples(const std::vector<protocol::SampleRange>& ranges) {
  uint64_t samples = 0;
  for (const protocol::SampleRange& range : ranges) samples += range.size();
  return static_cast<uint32_t>(samples);
}

bool IsQuiet(const protocol::ShardOrder& order) {
  return !std::holds_alternative<protocol::CommitAll>(order) &&
         !std::holds_alternative<protocol::Fence>(order) &&
         !std::holds_alternative<protocol::StopShard>(order);
}
}  // namespace

// --- The coordinator's shell.

void SmallWorld::Ask(const sync::Event& event, std::vector<Effect>& effects) {
  Decided decided;
  policy_->Observe(event, now_, decided.decisions);
  for (const std::string& what : *policy_violations_) Violate("policy contract: " + what);
  policy_violations_->clear();
  coordinator_.Step(decided, now_, effects);
}

void SmallWorld::Tell(const Fact& fact) {
  std::vector<Effect> effects;
  coordinator_.Step(fact, now_, effects);
  CarryOut(effects, [&](const Effect& effect) {
    if (const auto* observe = std::get_if<Observe>(&effect)) {
      const bool is_loss = std::holds_alternative<sync::WorkerLeft>(observe->event);
      if (options_.bug == Bug::kLossUnheard && is_loss) {
        coordinator_.Step(Decided{}, now_, effects);
      } else {
        Ask(observe->event, effects);
      }
    } else {
      Carry(effect);
    }
    // A coordinator that dies here leaves this behind.
    CheckNow();
  });
}

void SmallWorld::Carry(const Effect& effect) {
  if (const auto* send = std::get_if<SendWorker>(&effect)) return SendToWorker(*send);
  if (const auto* send = std::get_if<SendShard>(&effect)) return SendToShard(*send);
  if (const auto* close = std::get_if<CloseShard>(&effect)) {
    ShardModel& shard = shards_[close->shard.value()];
    if (shard.is_alive) Violate("a shard that lives is given up: " + close->reason);
    shard.is_loss_heard = true;
  } else if (const auto* close = std::get_if<CloseWorker>(&effect)) {
    for (Process& process : processes_) {
      if (process.is_up && process.connection == close->connection) process.is_closed = true;
    }
  } else if (const auto* configure = std::get_if<ConfigureShards>(&effect)) {
    protocol::Configure order;
    order.generation = configure->generation;
    if (const auto& from = configure->restore)
      order.restore = protocol::RestoreSlice{from->checkpoint, from->version, {}};
    contents_ = configure->restore ? cuts_.at(configure->restore->checkpoint) : Contents();
    CountSamples();
    for (uint64_t s = 0; s < shards_.size(); ++s) SendToShard({ShardId(s), order});
  } else if (const auto* cut = std::get_if<CutCheckpoint>(&effect)) {
    cuts_[cut->name] = contents_;
  } else if (const auto* complete = std::get_if<CompleteCheckpoint>(&effect)) {
    completing_ = complete->checkpoint;
  } else if (std::holds_alternative<RolledBack>(effect)) {
    policy_.reset();
  } else if (const auto* event = std::get_if<WorkerEvent>(&effect)) {
    if (event->kind == WorkerEventKind::kExpelled)
      Violate("an honest worker is expelled: " + event->detail);
    const bool is_loss =
        event->kind == WorkerEventKind::kLeft || event->kind == WorkerEventKind::kSilent;
    if (!is_loss) return;
    lost_.insert({event->worker, event->incarnation});
    for (const store::PushId& push : shards_[0].sum) {
      const bool is_its = push.worker == event->worker && push.incarnation == event->incarnation;
      if (options_.bug == Bug::kAccumulatedReturned && is_its) returned_ = samples_[push];
    }
  } else if (const auto* opened = std::get_if<TrainingOpened>(&effect)) {
    MakePolicy(std::max<uint32_t>(opened->workers, 1), opened->version);
  } else if (const auto* changed = std::get_if<PolicyChanged>(&effect)) {
    MakePolicy(std::max<uint32_t>(changed->workers, 1), changed->version);
  } else if (const auto* save = std::get_if<SaveModel>(&effect)) {
    for (const ShardModel& shard : shards_) {
      if (shard.is_alive && shard.newest() != save->version.value())
        Violate("saved is not the newest");
    }
    saving_ = *save;
  } else if (const auto* finished = std::get_if<Finished>(&effect)) {
    finished_ = *finished;
  }
}

void SmallWorld::MakePolicy(uint32_t workers, Version version) {
  sync::PolicySpec spec;
  spec.scheme = options_.scheme;
  if (sync::IsKToBeSaid(spec.scheme)) spec.parts.quorum = {sync::QuorumChoice::Rule::kCount, 2};
  spec.global_batch_size = options_.global_batch_size;
  spec.workers_expected = workers;
  spec.first_version = version;
  spec.wbsp.is_overlapped = options_.is_overlapped;
  spec.wbsp.local_steps_max = 2;
  auto report = [violations = policy_violations_](const std::string& what) {
    violations->push_back(what);
  };
  policy_ = std::make_unique<sync::CheckedPolicy>(*sync::MakePolicy(spec), spec, report);
}

void SmallWorld::SendToShard(const SendShard& send) {
  ShardModel& shard = shards_[send.shard.value()];
  protocol::ShardOrder order = send.order;
  if (const auto* commit = std::get_if<protocol::CommitAll>(&order)) NoteCommit(*commit);
  if (options_.bug == Bug::kFenceLost && std::holds_alternative<protocol::Fence>(order)) return;
  if (options_.bug == Bug::kListsDiffer && send.shard.value() + 1 == shards_.size()) {
    if (std::holds_alternative<protocol::AccumulateOrder>(order)) return;
    if (auto* commit = std::get_if<protocol::CommitAll>(&order);
        commit != nullptr && commit->pushes.size() > 1) {
      commit->pushes.pop_back();
    }
  }
  if (shard.is_alive) shard.orders.push_back(std::move(order));
}

void SmallWorld::SendToWorker(SendWorker send) {
  for (Process& process : processes_) {
    if (!process.is_up || process.connection != send.connection) continue;
    const auto is_early = [&](Version version) {
      return std::ranges::any_of(shards_, [&](const ShardModel& shard) {
        return shard.is_alive && shard.newest() < version.value();
      });
    };
    const auto* offered = std::get_if<protocol::Offered>(&send.order);
    if (offered != nullptr && is_early(offered->version))
      Violate(fmt::format("offered {} before all shards have it", offered->version));
    if (auto* released = std::get_if<protocol::Released>(&send.order)) {
      if (is_early(released->version))
        Violate(fmt::format("released {} before all shards have it", released->version));
      if (options_.bug == Bug::kReleaseLost && released->version == Version(1)) return;
      if (!returned_.empty() && Samples(returned_) == Samples(released->lease.ranges)) {
        released->lease.ranges = std::exchange(returned_, {});
      }
    }
    // A hint changes nothing here but where workers overlap, and an admission nothing but what the
    // process knows.
    if (offered != nullptr && !options_.is_overlapped) return;
    if (const auto* admitted = std::get_if<protocol::Admitted>(&send.order)) {
      process.incarnation = admitted->incarnation;
      process.generation = admitted->generation;
      return;
    }
    if (std::holds_alternative<protocol::Shards>(send.order)) return;
    process.inbox.push_back(std::move(send.order));
  }
}

// --- Workers.

void SmallWorld::Start(uint64_t index) {
  const bool is_evaluator = processes_[index].is_evaluator;
  Process& process = processes_[index] = Process{};
  process.is_evaluator = is_evaluator;
  process.is_up = true;
  process.connection = ConnectionId(++connections_);
  const protocol::Role role = is_evaluator ? protocol::Role::kEvaluator : protocol::Role::kWorker;
  incoming_[process.connection].push_back(WorkerSaid{
      process.connection, protocol::Join{role, WorkerId(index), Model(), options_.train_samples}});
}

void SmallWorld::GoDown(Process& process) {
  incoming_[process.connection].push_back(WorkerGone{process.connection});
  process.is_up = process.is_frozen = process.is_closed = false;
  process.inbox.clear();
}

bool SmallWorld::IsAboutToPush(const Process& process) {
  return !process.inbox.empty() &&
         (std::holds_alternative<protocol::Released>(process.inbox.front()) ||
          std::holds_alternative<protocol::Continued>(process.inbox.front()));
}

void SmallWorld::Push(uint64_t index, bool is_halfway) {
  Process& process = processes_[index];
  const protocol::WorkerOrder order = process.inbox.front();
  const auto* released = std::get_if<protocol::Released>(&order);
  if (released == nullptr)
    return Push(index, std::get<protocol::Continued>(order).lease, process.base, is_halfway);
  process.is_overlapped = released->assignment.pacing == sync::Pacing::kOverlapped;
  process.base = released->version;
  if (released->exactness == sync::Exactness::kAtLeast) {
    // What all shards have published already may not have come to the coordinator's ears.
    Version newest = Version(UINT64_MAX);
    for (const ShardModel& shard : shards_) newest = std::min(newest, Version(shard.newest()));
    process.base = std::max(process.base, newest);
  }
  Push(index, released->lease, process.base, is_halfway);
  // Only workers that go on from their copy need it again: kept, it would tell equal worlds apart.
  if (released->assignment.pacing == sync::Pacing::kWait) process.base = Version();
}

void SmallWorld::Push(uint64_t index, const protocol::Lease& lease, Version based_on,
                      bool is_halfway) {
  Process& process = processes_[index];
  process.sequence = process.sequence.Next();
  const store::PushId id{WorkerId(index), process.incarnation, process.sequence};
  samples_[id] = lease.ranges;
  for (ShardModel& shard : shards_) {
    if (!shard.is_alive || shard.has_stopped) return;
    if (shard.generation != process.generation) return GoDown(process);
    const auto fenced = shard.fenced.find(id.worker);
    if (fenced != shard.fenced.end() && id.incarnation <= fenced->second) return GoDown(process);
    shard.staged.insert(id);
    if (is_halfway) return;
  }
  protocol::PushDone done;
  done.generation = process.generation;
  done.sequence = process.sequence;
  done.based_on = based_on;
  done.leases = {lease.id};
  done.samples = Samples(lease.ranges);
  const int times = options_.sends_duplicates && index == 0 ? 2 : 1;
  for (int i = 0; i < times; ++i)
    incoming_[process.connection].push_back(WorkerSaid{process.connection, done});
}

void SmallWorld::ActWorker(uint64_t index) {
  Process& process = processes_[index];
  if (process.inbox.empty()) return GoDown(process);
  if (IsAboutToPush(process)) {
    Push(index, false);
    if (!process.inbox.empty()) process.inbox.pop_front();  // It may have gone down.
    return;
  }
  const protocol::WorkerOrder order = std::move(process.inbox.front());
  process.inbox.pop_front();
  if (std::holds_alternative<protocol::Fill>(order)) {
    for (ShardModel& shard : shards_) {
      if (shard.is_alive && shard.generation == process.generation)
        shard.answers.push_back(protocol::Filled{WorkerId(index), process.incarnation});
    }
  } else if (const auto* offered = std::get_if<protocol::Offered>(&order)) {
    process.base = std::max(process.base, offered->version);
  } else if (const auto* evaluate = std::get_if<protocol::Evaluate>(&order)) {
    for (const ShardModel& shard : shards_) {
      const bool is_kept = shard.pinned.contains(evaluate->version) ||
                           (shard.newest() >= evaluate->version.value() &&
                            shard.newest() <= evaluate->version.value() + 1);
      if (shard.is_alive && shard.generation == process.generation && !is_kept)
        Violate(fmt::format("{} is to be evaluated and not kept", evaluate->version));
    }
    incoming_[process.connection].push_back(
        WorkerSaid{process.connection, protocol::Evaluated{evaluate->version, 0.5, 0.5, 1}});
  } else if (std::holds_alternative<protocol::Finish>(order)) {
    process.is_done = true;
  }
}

// --- Shards.

void SmallWorld::ActShard(uint64_t index) {
  ShardModel& shard = shards_[index];
  const protocol::ShardOrder order = std::move(shard.orders.front());
  shard.orders.pop_front();
  Obey(shard, order);
}

void SmallWorld::Accumulate(ShardModel& shard, const store::PushId& push) {
  if (std::find(shard.sum.begin(), shard.sum.end(), push) != shard.sum.end()) return;
  if (shard.staged.erase(push) == 0)
    return Violate("a push is accumulated that is not staged:" + Describe(push));
  shard.sum.push_back(push);
}

void SmallWorld::Obey(ShardModel& shard, const protocol::ShardOrder& order) {
  if (const auto* configure = std::get_if<protocol::Configure>(&order)) {
    Configure(shard, *configure);
  } else if (const auto* save = std::get_if<protocol::SaveSlice>(&order)) {
    if (save->version.value() != shard.newest()) Violate("a slice is not of the version cut");
    shard.answers.push_back(protocol::SliceSaved{save->checkpoint, {}, ""});
  } else if (std::holds_alternative<protocol::Open>(order)) {
    shard.versions.emplace_back();
    shard.answers.push_back(protocol::Opened{});
  } else if (const auto* accumulate = std::get_if<protocol::AccumulateOrder>(&order)) {
    Accumulate(shard, accumulate->push);
  } else if (const auto* drop = std::get_if<protocol::DropOrder>(&order)) {
    shard.staged.erase(drop->push);
  } else if (const auto* fence = std::get_if<protocol::Fence>(&order)) {
    shard.fenced[fence->worker] = std::max(shard.fenced[fence->worker], fence->incarnation);
    std::erase_if(shard.staged, [&](const store::PushId& push) {
      return push.worker == fence->worker && push.incarnation <= fence->incarnation;
    });
  } else if (const auto* admit = std::get_if<protocol::Admit>(&order)) {
    Incarnation& newest = shard.admitted[admit->worker];
    if (admit->incarnation <= newest)
      Violate(fmt::format("{} {} is admitted after {}", admit->worker, admit->incarnation, newest));
    newest = admit->incarnation;
  } else if (const auto* sum = std::get_if<protocol::Sum>(&order)) {
    shard.answers.push_back(protocol::Summed{sum->version, {1.0}});
  } else if (const auto* prepare = std::get_if<protocol::Prepare>(&order)) {
    if (shard.sum.empty()) Violate(fmt::format("{} is prepared of no push", prepare->version));
    shard.answers.push_back(protocol::Prepared{prepare->version, {{0, {4.0, 1.0}}}});
  } else if (const auto* commit = std::get_if<protocol::CommitAll>(&order)) {
    Commit(shard, *commit);
  } else if (const auto* unpin = std::get_if<protocol::Unpin>(&order)) {
    if (shard.pinned.erase(unpin->version) == 0)
      Violate(fmt::format("{} is unpinned twice", unpin->version));
  } else if (std::holds_alternative<protocol::StopShard>(order)) {
    shard.has_stopped = true;
  }
}

void SmallWorld::Commit(ShardModel& shard, const protocol::CommitAll& order) {
  for (const auto& push : order.pushes) Accumulate(shard, push.push);
  const Version version = order.commit.version;
  if (version.value() != shard.newest() + 1)
    Violate(fmt::format("{} is not the successor", version));
  if (shard.sum.empty()) Violate(fmt::format("{} commits nothing", version));
  if (order.commit.is_pinned) shard.pinned.insert(version);
  shard.versions.push_back(std::exchange(shard.sum, {}));
  shard.answers.push_back(protocol::Committed{version, {1.0}});
}

void SmallWorld::Configure(ShardModel& shard, const protocol::Configure& order) {
  if (order.generation <= shard.generation) Violate("a shard is configured for an old generation");
  const std::deque<protocol::ShardOrder> orders = std::move(shard.orders);
  const std::deque<protocol::ShardMessage> answers = std::move(shard.answers);
  shard = ShardModel{};
  shard.orders = orders;
  shard.answers = answers;
  shard.generation = order.generation;
  shard.answers.push_back(protocol::Configured{order.generation});
  if (!order.restore.has_value()) return;
  shard.first = order.restore->version.value();
  shard.versions.emplace_back();
  shard.answers.push_back(protocol::Opened{});
}

void SmallWorld::NoteCommit(const protocol::CommitAll& order) {
  std::vector<protocol::SampleRange>& ranges = contents_[order.commit.version];
  if (!ranges.empty()) return;  // Sent to another shard already.
  for (const auto& push : order.pushes) {
    const std::vector<protocol::SampleRange>& samples = samples_[push.push];
    ranges.insert(ranges.end(), samples.begin(), samples.end());
  }
  CountSamples();
}

void SmallWorld::CountSamples() {
  committed_.clear();
  for (const auto& [version, ranges] : contents_) {
    for (const protocol::SampleRange& range : ranges) {
      std::vector<int>& epoch = committed_[range.epoch];
      epoch.resize(options_.train_samples);
      for (uint64_t at = range.begin; at < range.end; ++at) {
        if (++epoch[at] > 1)
          Violate(fmt::format("sample {} of epoch {} is committed twice", at, range.epoch));
      }
    }
  }
}

// Another life of the coordinator: it knows what is on disk, shards and workers come to it anew.
void SmallWorld::RestartCoordinator() {
  CoordinatorOptions options = OptionsOf(options_);
  options.generation.start = ++starts_;
  if (options.checkpoint.has_value()) {
    options.checkpoint->found = disk_;
    options.checkpoint->serial = 100 * starts_;
  }
  coordinator_ = Coordinator(options);
  policy_.reset();
  finished_.reset();
  saving_.reset();
  completing_.reset();
  incoming_.clear();
  acknowledged_.clear();
  lost_.clear();
  for (uint64_t s = 0; s < shards_.size(); ++s) {
    ShardModel& shard = shards_[s];
    shard.is_loss_heard = !shard.is_alive;
    shard.orders.clear();
    shard.answers.clear();
    if (shard.is_alive) shard.answers.push_back(protocol::Register{ShardId(s), "unix:"});
  }
  for (Process& process : processes_) {
    const bool is_evaluator = process.is_evaluator;
    process = Process{};
    process.is_evaluator = is_evaluator;
  }
}

// --- What the coordinator hears.

void SmallWorld::HearWorker(uint64_t connection) {
  auto& queue = incoming_[ConnectionId(connection)];
  const Fact fact = std::move(queue.front());
  queue.pop_front();
  if (queue.empty()) incoming_.erase(ConnectionId(connection));
  const auto* said = std::get_if<WorkerSaid>(&fact);
  const auto* done = said == nullptr ? nullptr : std::get_if<protocol::PushDone>(&said->message);
  Tell(fact);
  const bool is_repeat =
      options_.bug == Bug::kDuplicateCounted && done != nullptr && options_.sends_duplicates;
  if (!is_repeat || finished_.has_value() || processes_[0].connection != said->connection) return;
  std::vector<Effect> effects;
  Ask(sync::PushArrived{WorkerId(0), done->sequence, done->based_on, 1, done->samples, {}, {}, {}},
      effects);
  for (const Effect& effect : effects) Carry(effect);
}

void SmallWorld::HearShard(uint64_t index) {
  ShardModel& shard = shards_[index];
  if (shard.answers.empty()) {
    shard.is_loss_heard = true;
    Tell(ShardGone{ShardId(index), "killed"});
    return;
  }
  const protocol::ShardMessage answer = std::move(shard.answers.front());
  shard.answers.pop_front();
  const auto* committed = std::get_if<protocol::Committed>(&answer);
  const bool is_commit = committed != nullptr;
  if (is_commit) ++acknowledged_[committed->version];
  if (std::holds_alternative<protocol::Configured>(answer)) acknowledged_.clear();
  for (uint64_t s = 0; s < shards_.size(); ++s) {
    const bool is_forged = options_.bug == Bug::kReleasedEarly && is_commit;
    if (s == index || is_forged) Tell(ShardSaid{ShardId(s), answer});
  }
}

void SmallWorld::Settle() {
  for (uint64_t s = 0; s < shards_.size(); ++s) {
    ShardModel& shard = shards_[s];
    while (!shard.orders.empty() && IsQuiet(shard.orders.front())) ActShard(s);
  }
  for (uint64_t s = 0; s < shards_.size() && !is_over(); ++s) {
    ShardModel& shard = shards_[s];
    while (!shard.answers.empty()) {
      const auto* committed = std::get_if<protocol::Committed>(&shard.answers.front());
      if (committed == nullptr || acknowledged_[committed->version] + 1 >= shards_.size()) break;
      HearShard(s);
    }
  }
}

void SmallWorld::PassTime() {
  const std::string before = Fingerprint();
  for (int leap = 0; leap < kIdleLeapsMax && Fingerprint() == before; ++leap) {
    const std::optional<Time> deadline = coordinator_.Deadline();
    if (!deadline.has_value()) return Violate("nothing is enabled and there is no deadline");
    now_ = std::max(now_, *deadline);
    for (const Process& process : processes_) {
      if (process.is_up && !process.is_frozen)
        Tell(WorkerSaid{process.connection, protocol::Heartbeat{}});
    }
    for (uint64_t s = 0; s < shards_.size(); ++s) {
      const bool beats = shards_[s].is_alive || options_.bug == Bug::kShardLossUnheard;
      const auto work = static_cast<uint64_t>(now_.time_since_epoch().count());
      if (beats) Tell(ShardSaid{ShardId(s), protocol::ShardHeartbeat{.work_done = work}});
    }
    Tell(DeadlineReached{});
  }
  if (Fingerprint() == before) Violate("silence: nothing but time passes");
}

}  // namespace paceline::coordination::testing
