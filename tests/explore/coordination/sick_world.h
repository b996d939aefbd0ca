// Defines SickWorld, for tests: workers that compute at chance's pace on samples, machines and
// models of which some are ill.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lib/coordination/testing.h"

namespace paceline::coordination::testing {

// What a poisoned sample does to whoever computes it.
enum class Harm { kMakesIll, kEndsProcess, kHangs };

struct SickWorldOptions {
  sync::Scheme scheme = sync::Scheme::kBsp;
  uint64_t workers = 4;
  uint64_t samples = 64;
  uint32_t global_batch_size = 8;
  uint64_t epochs = 2;
  uint64_t seed = 0;  // Of who acts next; the epochs' order is the same for all.
  // What is ill: these samples, everything of these workers, every version from here on.
  std::set<uint64_t> poisoned = {};
  std::set<uint64_t> sick = {};
  uint64_t ill_from = UINT64_MAX;
  Harm harm = Harm::kMakesIll;
  // Else one that goes on from its own copy pushes several steps at once, as chance has it.
  bool is_one_a_push = true;
};

// The sample that stands there in epoch 0.
uint64_t SampleAt(uint64_t position, const SickWorldOptions& options);

// One process each. One that ended, or hung, is replaced by another; one that was expelled for its
// gradients is not.
class SickWorld {
 public:
  explicit SickWorld(const SickWorldOptions& options);

  // Until the job is finishing, has gone back, or nothing more happens.
  void Run();

  std::vector<uint64_t> Found() const;                                 // Samples, in order.
  std::set<uint64_t> Expelled() const;                                 // Workers.
  uint64_t Discarded() const;                                          // Positions of all epochs.
  uint64_t Broken() const { return connections_ - options_.workers; }  // Processes.
  uint64_t RollBacks() const { return job_.coordinator.status().roll_backs; }
  bool IsFinishing() const { return job_.coordinator.status().phase == Phase::kFinishing; }
  const Job& job() const { return job_; }

 private:
  // One that pulls eagerly computes on while its push is not answered; others push and wait for the
  // next lease.
  struct Worker {
    uint64_t connection = 0;
    uint64_t attempt = 0;
    size_t heard = 0;  // Of what was sent to it.
    uint64_t steps = 0;
    std::deque<protocol::Lease> leases;
    sync::Pacing pacing = sync::Pacing::kWait;
    std::vector<protocol::Lease> made;  // Computed, not pushed.
    bool is_ill = false;                // What is made.
    Version base, made_on;
    std::optional<Version> pulled;  // Here, not used yet.
    bool is_copy_ill = false;       // Of one that goes on from its own copy.
    bool is_unanswered = false;
    uint64_t pushes = 0;
  };
  struct Action {
    enum class Kind { kCompute, kPush, kPublish } kind;
    uint64_t worker = 0;
  };

  void Join(uint64_t index);
  void Listen();
  std::vector<Action> Enabled() const;
  void Do(const Action& action);
  void Compute(uint64_t index);
  void Push(uint64_t index);
  // Its process ends, or its step never does.
  void Break(uint64_t index);
  bool MayCompute(const Worker& worker) const;
  bool HasPoison(const protocol::Lease& lease) const;

  SickWorldOptions options_;
  Job job_;
  std::vector<Worker> workers_;
  uint64_t connections_ = 0;
  std::map<uint64_t, std::vector<uint32_t>> orders_;  // Of epochs.
  uint64_t published_ = 0;
  std::mt19937_64 chance_;
};

}  // namespace paceline::coordination::testing
