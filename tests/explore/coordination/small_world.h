// Defines SmallWorld, for exhaustive walks: a coordinator with its policy, and models of shards,
// workers and an evaluator that act one message at a time, die, freeze and come back.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/coordination/coordinator.h"
#include "lib/sync/contract/policy.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::coordination::testing {

// What is planted between the coordinator and its world, for walks that must find it.
enum class Bug {
  kNone,
  kFenceLost,            // Shards are not told of lost lives.
  kReleasedEarly,        // The first shard's Committed counts for all.
  kAccumulatedReturned,  // A lost worker's accumulated samples are leased again.
  kDuplicateCounted,     // A repeated PushDone reaches the policy.
  kListsDiffer,          // The last shard lacks a push of a commit.
  kReleaseLost,          // A worker is never told to go on.
  kShardLossUnheard,     // Nobody tells that a shard is gone, and its heartbeats go on.
  kLossUnheard,          // The policy is not told that a worker left.
};

struct WorldOptions {
  sync::Scheme scheme = sync::Scheme::kBsp;
  bool is_overlapped = false;  // WBSP: workers compute while they push and pull.
  uint32_t workers = 3;
  uint32_t shards = 2;
  uint64_t train_samples = 9;
  uint32_t global_batch_size = 3;
  uint64_t epochs = 1;
  OnDrop on_drop = OnDrop::kReturn;
  std::optional<double> clip_norm;
  bool is_layer_wise = false;
  bool has_evaluator = false;
  bool starts_afresh = false;     // Else with training just opened.
  bool sends_duplicates = false;  // Worker 0 says PushDone twice.
  uint32_t worker_crashes = 0;    // Budgets: how often the walk may choose it.
  uint32_t shard_crashes = 0;
  bool is_shard_loss_silent = false;  // No session ends: only its heartbeats do.
  uint32_t coordinator_crashes = 0;
  uint32_t suspensions = 0;
  uint32_t freezes = 0;
  bool has_checkpoints = false;  // At every commit, where none is under way.
  uint32_t changes = 0;          // Of the scheme: to the next one of the list.
  uint32_t drains = 0;           // Of worker 0.
  Bug bug = Bug::kNone;
};

CoordinatorOptions OptionsOf(const WorldOptions& world);

struct Action {
  enum class Kind {
    kHearWorker,
    kWorkerActs,
    kShardActs,
    kHearShard,
    kKept,
    kSaved,
    kTime,
    kRestart,
    kCrash,
    kCrashHalfway,
    kCrashShard,
    kFreeze,
    kThaw,
    kRestartShard,
    kCrashCoordinator,
    kSuspend,
    kChange,
    kDrain
  };
  Kind kind;
  uint64_t index = 0;  // Of the connection, process or shard.
};
std::string ToString(const Action& action);
std::string Describe(const store::PushId& id);

// A value: a copy is an independent world.
class SmallWorld {
 public:
  explicit SmallWorld(const WorldOptions& options);
  SmallWorld(const SmallWorld& other);
  SmallWorld& operator=(const SmallWorld&) = delete;

  std::vector<Action> Enabled() const;
  void Do(const Action& action);
  // To be asked where nothing is enabled any more.
  void CheckEnd();

  bool is_over() const { return finished_.has_value(); }
  const std::optional<Finished>& finished() const { return finished_; }
  const std::string& violation() const { return violation_; }  // The first; empty: none.
  std::string Fingerprint() const;

 private:
  struct ShardModel {
    bool is_alive = true;
    bool has_stopped = false;
    std::deque<protocol::ShardOrder> orders;     // Sent, not carried out.
    std::deque<protocol::ShardMessage> answers;  // Said, not heard.
    bool is_loss_heard = false;
    Generation generation;
    uint64_t first = 0;  // The version that `versions` begins with.
    std::map<WorkerId, Incarnation> fenced;
    std::map<WorkerId, Incarnation> admitted;
    std::set<store::PushId> staged;
    std::vector<store::PushId> sum;
    std::vector<std::vector<store::PushId>> versions;
    std::set<Version> pinned;
    uint64_t newest() const { return first + versions.size() - 1; }
  };
  struct Process {  // The last one is the evaluator, if there is one.
    bool is_evaluator = false;
    bool is_up = false;
    bool is_frozen = false;
    bool is_done = false;    // Told Finish: not started again.
    bool is_closed = false;  // Once the inbox is empty.
    ConnectionId connection;
    Incarnation incarnation;
    Generation generation;
    std::deque<protocol::WorkerOrder> inbox;
    Sequence sequence;
    bool is_overlapped = false;  // As it was released last.
    Version base;                // Likewise; of its local copy.
  };
  static bool IsAboutToPush(const Process& process);
  // Whether every shard that would take its push knows of its life: it tries again until then.
  bool IsAdmitted(uint64_t index) const;

  void Tell(const Fact& fact);  // One Step and all that comes of it.
  void Ask(const sync::Event& event, std::vector<Effect>& effects);
  void Carry(const Effect& effect);
  void MakePolicy(uint32_t workers, Version version);
  void SendToShard(const SendShard& send);
  void SendToWorker(SendWorker send);

  void Start(uint64_t process);
  void GoDown(Process& process);
  void ActWorker(uint64_t process);
  // What the first order of its inbox, a release or continuation, asks for.
  void Push(uint64_t process, bool is_halfway);
  void Push(uint64_t process, const protocol::Lease& lease, Version based_on, bool is_halfway);
  void ActShard(uint64_t shard);
  void Obey(ShardModel& shard, const protocol::ShardOrder& order);
  void Accumulate(ShardModel& shard, const store::PushId& push);
  void Commit(ShardModel& shard, const protocol::CommitAll& order);
  void Configure(ShardModel& shard, const protocol::Configure& order);
  // What a version is made of, and that no sample is in it twice.
  void NoteCommit(const protocol::CommitAll& order);
  void CountSamples();
  void RestartCoordinator();
  void HearWorker(uint64_t connection);
  void HearShard(uint64_t shard);
  void PassTime();
  // Moves that commute with all others and that nobody can see are made at once, which loses no
  // world and saves many: a shard's orders that only it can tell, and the acknowledgements of a
  // version before the last one.
  void Settle();
  bool IsShardLossTold() const {
    return !options_.is_shard_loss_silent && options_.bug != Bug::kShardLossUnheard;
  }

  bool IsIdle(uint64_t process) const;
  void CheckNow();
  void Violate(const std::string& what);

  WorldOptions options_;
  Coordinator coordinator_;
  std::unique_ptr<sync::Policy> policy_;
  std::shared_ptr<std::vector<std::string>> policy_violations_;
  Time now_{};
  std::vector<ShardModel> shards_;
  std::vector<Process> processes_;
  std::map<ConnectionId, std::deque<Fact>> incoming_;  // Said by workers, not heard.
  uint64_t connections_ = 0;
  std::optional<SaveModel> saving_;
  std::optional<Finished> finished_;
  std::map<store::PushId, std::vector<protocol::SampleRange>>
      samples_;                                     // Of every push ever staged.
  std::map<uint64_t, std::vector<int>> committed_;  // Epoch, position: how often.
  using Contents = std::map<Version, std::vector<protocol::SampleRange>>;
  Contents contents_;                     // Of all versions that were asked for.
  std::map<std::string, Contents> cuts_;  // By checkpoint.
  std::optional<Checkpoint> completing_;
  std::vector<Checkpoint> disk_;
  uint64_t starts_ = 1;                     // Of coordinators.
  std::map<Version, size_t> acknowledged_;  // Heard: by so many shards.
  std::set<std::pair<WorkerId, Incarnation>> lost_;
  std::vector<protocol::SampleRange> returned_;  // By a planted bug: to be leased again.
  std::string violation_;
};

}  // namespace paceline::coordination::testing
