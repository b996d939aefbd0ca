// Exhaustive walks of small worlds: every order of messages, with a worker or shard that dies or
// freezes anywhere. The coordinator's own death is everywhere too: what must hold is checked after
// each single effect.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/explore/coordination/small_world.h"

namespace paceline::coordination::testing {
namespace {

constexpr size_t kStatesMax = 600000;

struct Walk {
  size_t states = 0;
  size_t successes = 0;
  size_t failures = 0;
  bool is_complete = true;
  std::string violation;
  std::vector<std::string> path;  // To the violation.
};

struct Digest {
  uint64_t a, b;
  bool operator==(const Digest&) const = default;
};

// FNV-1a and a relative of it, from two starts, eight bytes at a time: equal by chance once in
// 2^100 worlds.
Digest DigestOf(const std::string& text) {
  Digest digest{14695981039346656037u + text.size(), 0x9e3779b97f4a7c15u};
  for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof(word), text.size() - at));
    digest.a = (digest.a ^ word) * 1099511628211u;
    digest.a ^= digest.a >> 32;
    digest.b = (digest.b + word) * 0xff51afd7ed558ccdu;
    digest.b ^= digest.b >> 29;
  }
  return digest;
}

struct Bucket {
  size_t operator()(const Digest& digest) const { return digest.a; }
};

class Walker {
 public:
  explicit Walker(size_t states_max) : states_max_(states_max) {}

  Walk Run(const WorldOptions& options) {
    Visit(SmallWorld(options));
    return walk_;
  }

 private:
  // False once a violation was found.
  bool Visit(SmallWorld world) {
    if (!world.violation().empty()) {
      walk_.violation = world.violation();
      walk_.path = path_;
      return false;
    }
    if (!seen_.insert(DigestOf(world.Fingerprint())).second) return true;
    if (++walk_.states > states_max_) {
      walk_.is_complete = false;
      return true;
    }
    const std::vector<Action> actions = world.Enabled();
    if (actions.empty()) return End(std::move(world));
    for (size_t i = 0; i < actions.size(); ++i) {
      const bool is_last = i + 1 == actions.size();
      SmallWorld next = is_last ? std::move(world) : world;
      next.Do(actions[i]);
      path_.push_back(ToString(actions[i]));
      if (!Visit(std::move(next))) return false;
      path_.pop_back();
    }
    return true;
  }

  bool End(SmallWorld world) {
    world.CheckEnd();
    if (world.is_over()) ++(world.finished()->is_success ? walk_.successes : walk_.failures);
    walk_.violation = world.violation();
    walk_.path = path_;
    return walk_.violation.empty();
  }

  size_t states_max_;
  std::unordered_set<Digest, Bucket> seen_;
  std::vector<std::string> path_;
  Walk walk_;
};

std::string Path(const Walk& walk) {
  std::string text = walk.violation;
  for (const std::string& action : walk.path) text += "\n  " + action;
  return text;
}

struct Case {
  std::string name;
  WorldOptions world;
};

class ExploreTest : public ::testing::TestWithParam<Case> {};

TEST_P(ExploreTest, HoldsInEveryOrder) {
  const Walk walk = Walker(kStatesMax).Run(GetParam().world);
  EXPECT_EQ(walk.violation, "") << Path(walk);
  EXPECT_TRUE(walk.is_complete) << walk.states << " states";
  EXPECT_GT(walk.successes, 0u);
  EXPECT_EQ(walk.failures, 0u);
  RecordProperty("states", static_cast<int>(walk.states));
  printf("%s: %zu states\n", GetParam().name.c_str(), walk.states);
}

std::vector<Case> Cases() {
  using sync::Scheme;
  std::vector<Case> cases;
  for (const auto& [name, scheme] :
       std::vector<std::pair<std::string, Scheme>>{{"Bsp", Scheme::kBsp},
                                                   {"Backup", Scheme::kBackupWorkers},
                                                   {"Ssp", Scheme::kSsp},
                                                   {"Asp", Scheme::kAsp},
                                                   {"KBatchAsync", Scheme::kKBatchAsync}}) {
    WorldOptions calm;
    calm.scheme = scheme;
    // Each push is a commit of its own: with two shards three workers make too many worlds.
    if (scheme != Scheme::kBsp && scheme != Scheme::kBackupWorkers) {
      calm.shards = 1;
      calm.train_samples = 6;  // A third push of each worker: eight times as many worlds of ASP.
    }
    cases.push_back({name + "Calm", calm});
    WorldOptions small = calm;
    small.shards = 2;
    small.workers = 2;
    small.train_samples = 4;
    small.global_batch_size = 2;
    WorldOptions crash = small;
    crash.worker_crashes = 1;
    cases.push_back({name + "WorkerCrash", crash});
    if (scheme == Scheme::kBackupWorkers) {
      WorldOptions discarding = crash;
      discarding.on_drop = OnDrop::kDiscard;
      cases.push_back({name + "Discarding", discarding});
    }
    WorldOptions shard = small;
    shard.shard_crashes = 1;
    // More commits or late pushes make too many worlds of four samples.
    if (scheme != Scheme::kBsp) shard.train_samples = 2;
    cases.push_back({name + "ShardCrash", shard});
    WorldOptions silent = shard;
    silent.is_shard_loss_silent = true;
    cases.push_back({name + "SilentShardCrash", silent});
    WorldOptions kept = shard;
    kept.has_checkpoints = true;
    cases.push_back({name + "ShardCrashWithCheckpoints", kept});
    WorldOptions coordinator = kept;
    coordinator.shard_crashes = 0;
    coordinator.coordinator_crashes = 1;
    cases.push_back({name + "CoordinatorCrash", coordinator});
    WorldOptions suspended = kept;
    suspended.shard_crashes = 0;
    suspended.suspensions = 1;
    cases.push_back({name + "Suspended", suspended});
    WorldOptions frozen = small;
    frozen.freezes = 1;
    cases.push_back({name + "Frozen", frozen});
    WorldOptions tiny = small;  // Less data than a step wants, over two epochs.
    tiny.train_samples = 1;
    tiny.epochs = 3;
    tiny.sends_duplicates = true;
    cases.push_back({name + "TinyEpochs", tiny});
  }
  for (const auto& [name, scheme] :
       std::vector<std::pair<std::string, Scheme>>{{"BspToSsp", Scheme::kBsp},
                                                   {"SspToBackup", Scheme::kSsp},
                                                   {"BackupToAsp", Scheme::kBackupWorkers},
                                                   {"AspToBsp", Scheme::kAsp}}) {
    WorldOptions changed;
    changed.scheme = scheme;
    changed.workers = 2;
    changed.train_samples = 4;
    changed.global_batch_size = 2;
    changed.changes = 1;
    cases.push_back({name, changed});
    changed.shards = 1;
    changed.worker_crashes = 1;
    cases.push_back({name + "WorkerCrash", changed});
  }
  for (const bool is_overlapped : {false, true}) {
    const std::string name = is_overlapped ? "WbspOverlapped" : "WbspBasic";
    WorldOptions busy;
    busy.scheme = Scheme::kWbsp;
    busy.is_overlapped = is_overlapped;
    busy.workers = 2;
    busy.shards = 1;
    busy.train_samples = 4;
    busy.global_batch_size = 2;
    cases.push_back({name + "Calm", busy});
    WorldOptions crash = busy;
    crash.worker_crashes = 1;
    cases.push_back({name + "WorkerCrash", crash});
    WorldOptions changed = busy;
    changed.changes = 1;
    cases.push_back({name + "ToBsp", changed});
    WorldOptions drained = busy;
    drained.drains = 1;
    cases.push_back({name + "Drained", drained});
  }
  WorldOptions twice;
  twice.workers = 2;
  twice.shards = 1;
  twice.train_samples = 4;
  twice.global_batch_size = 2;
  twice.changes = 2;
  cases.push_back({"ChangedTwice", twice});
  for (const Scheme scheme : {Scheme::kBsp, Scheme::kSsp}) {
    WorldOptions drained = twice;
    drained.scheme = scheme;
    drained.changes = 1;
    drained.drains = 1;
    cases.push_back({scheme == Scheme::kBsp ? "BspDrained" : "SspDrained", drained});
  }
  WorldOptions three;
  three.train_samples = 6;
  three.worker_crashes = 1;
  cases.push_back({"BspThreeWorkersCrash", three});
  WorldOptions startup;
  startup.workers = 2;
  startup.train_samples = 2;
  startup.global_batch_size = 2;
  startup.starts_afresh = true;
  startup.worker_crashes = 1;
  cases.push_back({"StartupWorkerCrash", startup});
  WorldOptions clip = startup;
  clip.starts_afresh = false;
  clip.clip_norm = 1;
  clip.train_samples = 4;
  clip.scheme = Scheme::kAsp;
  cases.push_back({"AspClipWorkerCrash", clip});
  WorldOptions layered = clip;
  layered.is_layer_wise = true;
  cases.push_back({"AspClipLayersWorkerCrash", layered});
  layered.clip_norm.reset();
  cases.push_back({"AspLayersWorkerCrash", layered});
  WorldOptions evaluated = clip;
  evaluated.clip_norm.reset();
  evaluated.scheme = Scheme::kBsp;
  evaluated.has_evaluator = true;
  evaluated.shards = 1;
  cases.push_back({"EvaluatorCrash", evaluated});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Worlds, ExploreTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

struct Planted {
  std::string name;
  Bug bug;
  std::string found_as;
};

class PlantedBugTest : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedBugTest, IsFound) {
  WorldOptions world;
  world.workers = 2;
  world.train_samples = 6;
  world.global_batch_size = 2;
  world.bug = GetParam().bug;
  world.worker_crashes =
      world.bug == Bug::kAccumulatedReturned || world.bug == Bug::kLossUnheard ? 1 : 0;
  world.freezes = world.bug == Bug::kFenceLost ? 1 : 0;
  world.shard_crashes = world.bug == Bug::kShardLossUnheard ? 1 : 0;
  world.sends_duplicates = world.bug == Bug::kDuplicateCounted;
  const Walk walk = Walker(kStatesMax).Run(world);
  ASSERT_NE(walk.violation, "");
  EXPECT_NE(walk.violation.find(GetParam().found_as), std::string::npos) << Path(walk);
}

INSTANTIATE_TEST_SUITE_P(
    Bugs, PlantedBugTest,
    ::testing::Values(Planted{"FenceLost", Bug::kFenceLost, "staged for ever"},
                      Planted{"ReleasedEarly", Bug::kReleasedEarly, "before all shards have it"},
                      Planted{"AccumulatedReturned", Bug::kAccumulatedReturned, "committed twice"},
                      Planted{"DuplicateCounted", Bug::kDuplicateCounted, "policy contract"},
                      Planted{"ListsDiffer", Bug::kListsDiffer, "different pushes"},
                      Planted{"ReleaseLost", Bug::kReleaseLost, "silence"},
                      Planted{"ShardLossUnheard", Bug::kShardLossUnheard, "silence"},
                      Planted{"LossUnheard", Bug::kLossUnheard, "silence"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace paceline::coordination::testing
