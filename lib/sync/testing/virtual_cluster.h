// Defines VirtualCluster, for tests: workers on a virtual clock, driven by a policy.
//
// A released worker pushes after a round trip of its own; commits are published at once; spare time
// is given whenever asked for. Nothing is random but what the callers draw from Draws.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lib/sync/contract/policy.h"

namespace paceline::sync::testing {

// Seeded and the same everywhere (splitmix64, Steele et al. 2014).
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // In [0, 1).
  double Exponential() { return -std::log1p(-Uniform()); }                  // Of mean 1.
  double Normal() {
    return std::sqrt(2 * Exponential()) * std::cos(2 * 3.14159265358979323846 * Uniform());
  }

 private:
  uint64_t state_;
};

class VirtualCluster {
 public:
  struct Workload {
    // Seconds from release to push.
    std::function<double(WorkerId, Time now)> round_trip;
    // What a push on the newest version says of its gradient.
    std::function<GradientFacts(WorkerId)> gradient = [](WorkerId) { return GradientFacts{}; };
    // Applies the mean of these pushes; gives the rate and the squared norm.
    std::function<StepCommitted(const std::vector<WorkerId>&, double rate_scale)> apply =
        [](const std::vector<WorkerId>&, double) { return StepCommitted{}; };
  };

  VirtualCluster(std::unique_ptr<Policy> policy, uint32_t workers, Workload workload)
      : policy_(std::move(policy)), workload_(std::move(workload)) {
    for (uint32_t i = 0; i < workers; ++i) Tell(WorkerJoined{WorkerId(i)});
  }

  // Until so many commits were made.
  void RunSteps(uint64_t steps) {
    for (const uint64_t until = commits_ + steps; commits_ < until;) Next();
  }

  Time now() const { return now_; }
  uint64_t commits() const { return commits_; }
  uint32_t last_pushes() const { return last_pushes_; }  // In the last commit.
  uint64_t pushes() const { return pushes_; }
  Policy& policy() { return *policy_; }

 private:
  struct Busy {
    WorkerId worker;
    Version based_on;
    uint32_t samples = 1;
    GradientFacts gradient;
    Duration took{};
  };

  void Next() {
    if (const auto deadline = policy_->Deadline(); deadline && *deadline < busy_.begin()->first) {
      now_ = *deadline;
      return Tell(DeadlineReached{});
    }
    const auto first = busy_.begin();
    now_ = first->first;
    const Busy done = first->second;
    busy_.erase(first);
    ++pushes_;
    PushArrived push{.worker = done.worker,
                     .sequence = Sequence(++sequences_[done.worker]),
                     .based_on = done.based_on,
                     .samples = done.samples,
                     .gradient = done.gradient};
    push.timing.compute = done.took;
    Tell(push);
  }

  void Tell(const Event& event) {
    std::vector<Decision> decisions;
    policy_->Observe(event, now_, decisions);
    std::vector<WorkerId> interrupted;
    for (const Decision& decision : decisions) {
      if (const auto* accumulate = std::get_if<Accumulate>(&decision)) {
        summed_.push_back(accumulate->worker);
      } else if (const auto* commit = std::get_if<Commit>(&decision)) {
        ++commits_;
        last_pushes_ = static_cast<uint32_t>(summed_.size());
        published_ = workload_.apply(summed_, commit->learning_rate_scale);
        published_->version = Version(commits_);
        summed_.clear();
      } else if (const auto* release = std::get_if<Release>(&decision)) {
        Start(*release);
      } else if (const auto* interrupt = std::get_if<Interrupt>(&decision)) {
        interrupted.push_back(interrupt->worker);
      }
    }
    if (published_) Tell(*std::exchange(published_, std::nullopt));
    for (const WorkerId worker : interrupted) GiveUp(worker);
    if (policy_->WantsSpare()) Tell(Spare{64});
  }

  void Start(const Release& release) {
    const Duration took = Seconds(workload_.round_trip(release.worker, now_));
    busy_.emplace(now_ + took, Busy{release.worker, release.version, release.assignment.samples,
                                    workload_.gradient(release.worker), took});
  }

  void GiveUp(WorkerId worker) {
    for (auto busy = busy_.begin(); busy != busy_.end(); ++busy) {
      if (busy->second.worker != worker) continue;
      busy_.erase(busy);
      return Tell(StepAbandoned{.worker = worker, .sequence = Sequence(++sequences_[worker])});
    }
  }

  std::unique_ptr<Policy> policy_;
  Workload workload_;
  std::multimap<Time, Busy> busy_;
  std::map<WorkerId, uint64_t> sequences_;
  std::vector<WorkerId> summed_;
  std::optional<StepCommitted> published_;
  Time now_{};
  uint64_t commits_ = 0;
  uint64_t pushes_ = 0;
  uint32_t last_pushes_ = 0;
};

}  // namespace paceline::sync::testing
