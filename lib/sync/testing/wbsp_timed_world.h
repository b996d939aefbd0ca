// Defines TimedWorld, for tests: workers of given paces on a virtual clock, driving a policy whose
// workers keep going, basic or overlapped, under CheckedPolicy.
//
// The server takes no time, but a version is published after all that comes at the same moment as
// the push that it was decided with, and until then nobody hears of it, as lib/coordination has it.
// Who has pushed goes on before it is answered. Who may go on without computing (a release's pull,
// an upload) takes what its pace says. Nothing is random; what happens at the same time happens in
// the order in which it was begun.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/policy_factory.h"

namespace paceline::sync::testing {

struct Pace {
  double compute = 1;  // Seconds of one step.
  double upload = 0;
  double pull = 0;
};

class TimedWorld {
 public:
  struct Round {
    double seconds = 0;
    std::map<WorkerId, uint32_t> steps;  // Credited to it.
    std::vector<double> weights;         // Of its pushes...
    std::map<WorkerId, double> shares;   // ...and their sums.
  };

  TimedWorld(PolicySpec spec, std::vector<Pace> paces) : paces_(std::move(paces)) {
    spec.workers_expected = static_cast<uint32_t>(paces_.size());
    auto policy = MakePolicy(spec);
    EXPECT_TRUE(policy.ok()) << policy.status();
    policy_ = std::make_unique<CheckedPolicy>(
        *std::move(policy), spec, [](const std::string& what) { ADD_FAILURE() << what; });
    for (uint64_t w = 0; w < paces_.size(); ++w) {
      workers_[WorkerId(w)];
      Tell(WorkerJoined{WorkerId(w)});
    }
  }

  void Run(size_t rounds) {
    while (rounds_.size() < rounds && !happenings_.empty()) Step();
  }
  void RunFor(double seconds) {
    for (const double end = now_ + seconds; !happenings_.empty() && NextAt() <= end;) Step();
  }
  // From its next step on.
  void SetPace(WorkerId worker, const Pace& pace) { paces_[worker.value()] = pace; }
  // Its push under way does not arrive, and nothing of it any more.
  void Silence(WorkerId worker) { workers_[worker].is_silent = true; }
  void Leave(WorkerId worker) {
    workers_.erase(worker);
    Tell(WorkerLeft{worker});
  }
  void Join(WorkerId worker, const Pace& pace) {
    paces_.resize(std::max<size_t>(paces_.size(), worker.value() + 1));
    paces_[worker.value()] = pace;
    workers_[worker] = Worker{.since = now_};
    Tell(WorkerJoined{worker});
  }

  const std::vector<Round>& rounds() const { return rounds_; }
  double now() const { return now_; }
  uint64_t drops(DropReason reason) const {
    const auto found = drops_.find(reason);
    return found == drops_.end() ? 0 : found->second;
  }
  const Policy& policy() const { return policy_->inner(); }

  // Over all rounds but the first `skipped`.
  double MeanRound(size_t skipped) const {
    double sum = 0;
    for (size_t i = skipped; i < rounds_.size(); ++i) sum += rounds_[i].seconds;
    return sum / static_cast<double>(rounds_.size() - skipped);
  }
  double MeanSteps(WorkerId worker, size_t skipped) const {
    double sum = 0;
    for (size_t i = skipped; i < rounds_.size(); ++i) {
      const auto found = rounds_[i].steps.find(worker);
      if (found != rounds_[i].steps.end()) sum += found->second;
    }
    return sum / static_cast<double>(rounds_.size() - skipped);
  }

 private:
  enum class Kind { kComputed, kPushed, kPulled, kPublished };
  struct Worker {
    bool is_silent = false;
    uint32_t leases = 0;
    std::optional<Version> base, incoming, wanted, fetching;
    Version needs;  // Of its last release.
    bool is_stepping = false;
    // While it does not step: since when, and whether because something travels.
    double since = 0;
    bool is_communicating = false;
    Timing timing, cut_timing;
    bool is_talking = false;     // One transfer at a time, in turns.
    bool is_fetch_next = false;  // Where there is one of each kind.
    uint32_t unpushed = 0;       // Steps made, not cut off.
    uint32_t cut = 0;            // Steps of the push that waits or travels; 0: none.
    Version cut_base;
    Sequence sequence;
  };
  using Happening = std::tuple<double, uint64_t, Kind, WorkerId>;

  double NextAt() const { return std::get<0>(happenings_.top()); }
  const Pace& PaceOf(WorkerId worker) const { return paces_[worker.value()]; }
  void After(double seconds, Kind kind, WorkerId worker) {
    happenings_.emplace(now_ + seconds, ++order_, kind, worker);
  }

  void Step() {
    const auto deadline = policy_->Deadline();
    if (deadline && ToSeconds(deadline->time_since_epoch()) <= NextAt()) {
      now_ = std::max(now_, ToSeconds(deadline->time_since_epoch()));
      return Tell(DeadlineReached{});
    }
    const auto [at, order, kind, id] = happenings_.top();
    happenings_.pop();
    now_ = at;
    if (kind == Kind::kPublished) return Publish();
    const auto found = workers_.find(id);
    if (found == workers_.end() || found->second.is_silent) return;
    Worker& worker = found->second;
    if (kind == Kind::kComputed) {
      worker.is_stepping = false;
      worker.since = now_;
      ++worker.unpushed;
    } else if (kind == Kind::kPulled) {
      worker.is_talking = false;
      worker.incoming = worker.fetching;
    } else {
      worker.is_talking = false;
      return Push(id, worker);
    }
    Border(id, worker);
  }

  // As the Overlapped of lib/worker; a worker that waits for every answer has one lease at a time.
  void Border(WorkerId id, Worker& worker) {
    Account(worker);
    if (worker.is_stepping) return Talk(id, worker);
    if (worker.incoming) worker.base = std::exchange(worker.incoming, std::nullopt);
    if (worker.unpushed > 0 && worker.cut == 0) {
      worker.cut = std::exchange(worker.unpushed, 0);
      worker.cut_base = *worker.base;
      worker.cut_timing = std::exchange(worker.timing, {});
    }
    if (worker.leases > 0 && worker.base && *worker.base >= worker.needs) {
      --worker.leases;
      worker.is_stepping = true;
      After(PaceOf(id).compute, Kind::kComputed, id);
    }
    worker.is_communicating = worker.cut > 0 || HasToFetch(worker);
    Talk(id, worker);
  }

  // As lib/worker: who stands still because something travels communicates, the rest is waiting.
  void Account(Worker& worker) const {
    if (worker.is_stepping) return;
    (worker.is_communicating ? worker.timing.communication : worker.timing.wait) +=
        Seconds(now_ - worker.since);
    worker.since = now_;
  }

  bool HasToFetch(const Worker& worker) const {
    return !worker.incoming && worker.wanted && (!worker.base || *worker.wanted > *worker.base);
  }

  void Talk(WorkerId id, Worker& worker) {
    if (worker.is_talking) return;
    const bool has_to_fetch = HasToFetch(worker);
    if (has_to_fetch && PaceOf(id).pull == 0) {
      worker.incoming = worker.wanted;
      return Border(id, worker);
    }
    if (worker.cut > 0 && !(has_to_fetch && worker.is_fetch_next)) {
      worker.is_talking = worker.is_fetch_next = true;
      After(PaceOf(id).upload, Kind::kPushed, id);
    } else if (has_to_fetch) {
      worker.is_talking = true;
      worker.is_fetch_next = false;
      worker.fetching = worker.wanted;
      After(PaceOf(id).pull, Kind::kPulled, id);
    }
  }

  void Push(WorkerId id, Worker& worker) {
    Account(worker);
    worker.sequence = worker.sequence.Next();
    PushArrived push{.worker = id, .sequence = worker.sequence, .based_on = worker.cut_base};
    push.steps = std::exchange(worker.cut, 0);
    push.samples = push.steps;
    push.timing = worker.cut_timing;
    push.timing.compute = Seconds(push.steps * PaceOf(id).compute);
    steps_[id] = push.steps;
    Border(id, worker);
    Tell(push);
  }

  void Tell(const Event& event) {
    std::vector<Decision> decisions;
    policy_->Observe(event, Time(Seconds(now_)), decisions);
    for (const Decision& decision : decisions) {
      if (const auto* accumulate = std::get_if<Accumulate>(&decision)) {
        open_.steps[accumulate->worker] += steps_[accumulate->worker];
        open_.weights.push_back(accumulate->weight);
        open_.shares[accumulate->worker] += accumulate->weight;
      } else if (const auto* drop = std::get_if<Drop>(&decision)) {
        ++drops_[drop->reason];
      } else if (std::holds_alternative<Commit>(decision)) {
        open_.seconds = now_ - round_began_;
        round_began_ = now_;
        rounds_.push_back(std::exchange(open_, {}));
        After(0, Kind::kPublished, WorkerId());
      } else if (const auto* release = std::get_if<Release>(&decision)) {
        if (release->version > published_) {
          releases_.push_back(*release);
        } else {
          Carry(*release);
        }
      } else if (const auto* go_on = std::get_if<Continue>(&decision)) {
        ++workers_[go_on->worker].leases;
        Border(go_on->worker, workers_[go_on->worker]);
      } else if (const auto* offer = std::get_if<Offer>(&decision)) {
        if (offer->version > published_) {
          offers_.push_back(*offer);
        } else {
          Carry(*offer);
        }
      }
    }
  }

  void Carry(const Release& release) {
    Worker& worker = workers_[release.worker];
    worker.wanted = worker.needs = release.version;
    ++worker.leases;
    Border(release.worker, worker);
  }
  void Carry(const Offer& offer) {
    Worker& worker = workers_[offer.worker];
    worker.wanted = offer.version;
    Border(offer.worker, worker);
  }

  // Who is busy no more has its answer, and needs no offer.
  void Publish() {
    published_ = published_.Next();
    std::erase_if(offers_, [this](const Offer& offer) { return !IsBusy(workers_[offer.worker]); });
    for (const Release& release : std::exchange(releases_, {})) Carry(release);
    for (const Offer& offer : std::exchange(offers_, {})) Carry(offer);
    Tell(StepCommitted{.version = published_});
  }
  static bool IsBusy(const Worker& worker) {
    return worker.leases > 0 || worker.is_stepping || worker.unpushed > 0 || worker.cut > 0;
  }

  std::vector<Pace> paces_;
  std::unique_ptr<CheckedPolicy> policy_;
  std::map<WorkerId, Worker> workers_;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
  uint64_t order_ = 0;
  double now_ = 0;
  double round_began_ = 0;
  Version published_;
  std::vector<Release> releases_;  // Held until their version is published, as the offers.
  std::vector<Offer> offers_;
  std::map<WorkerId, uint32_t> steps_;  // Of each one's latest push.
  Round open_;
  std::vector<Round> rounds_;
  std::map<DropReason, uint64_t> drops_;
};

}  // namespace paceline::sync::testing
