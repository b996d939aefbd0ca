// Defines Transfers: a worker's pulls and pushes within one session, numbered and retold as
// protocol values.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/push_kind.h"
#include "lib/protocol/worker_messages.h"
#include "lib/rpc/bulk/parameter_client.h"
#include "lib/store/layout.h"
#include "lib/sync/contract/event.h"
#include "lib/worker/loop/pulse.h"
#include "lib/worker/loop/trainer.h"

namespace paceline::worker {

// What one push is made of: one step, or several local ones.
struct Tally {
  uint32_t steps = 0;
  uint64_t samples = 0;
  uint64_t skipped = 0;  // Of them.
  uint64_t correct = 0;
  double loss = 0;  // Mean over the samples that are not skipped; 0 of none.
  std::vector<protocol::LeaseId> leases;
  double loss_scale = 0;                        // After the last one.
  std::vector<uint32_t> without_gradient = {};  // Parameters that no step had a gradient of.

  void Add(const StepResult& step, protocol::LeaseId lease);
};

// After a batch that did not: a tenth less, so that little memory is left unused once some batch
// fits.
constexpr uint32_t LargestThoughtToFit(uint64_t samples) {
  return static_cast<uint32_t>(std::max<uint64_t>(1, samples * 9 / 10));
}

// Why a step of so many samples that failed with that status is given up, and its samples handed
// back; nothing if the worker cannot go on.
std::optional<sync::AbandonReason> AbandonReasonOf(const Status& status, uint64_t samples);

// What a worker says whose step failed with that status and that cannot go on.
protocol::Failing FailingOf(const Status& why);

// Pushes (Fill and Abandon among them) have one owner at a time, pulls one, which may be another
// thread; anybody may Announce.
class Transfers {
 public:
  // `pulse`, if there is one, outlives this.
  Transfers(WorkerId worker, const protocol::Admitted& admitted,
            std::unique_ptr<rpc::ParameterClient> shards, store::Layout layout = {},
            Pulse* pulse = nullptr);

  // The coordinator spoke of that version: all shards have it. Thread-safe.
  void Announce(Version version);

  Status Fill(std::span<const std::byte> values);

  // The version that `into` holds now: an exact one that is superseded gives way to the newest
  // announced, or a newer one that all shards have; all of `into` is of one version then. Aborted
  // if versions are given up faster than they can be pulled. `on_named`: as ParameterClient has it.
  StatusOr<Version> Pull(Version version, sync::Exactness exactness, std::span<std::byte> into,
                         const rpc::OnNamed& on_named = nullptr);
  // The same without a copy; nothing where that cannot be: Pull. What is held, and until when, as
  // ParameterClient has it.
  StatusOr<std::optional<Version>> Hold(Version version, sync::Exactness exactness,
                                        const rpc::OnHeld& on_held);

  // What to tell the coordinator, but for the timing; `payload` lives until the answer, and as long
  // as the process if there is none. Aborted if this life of the worker was declared lost.
  // Deltas arrive bit by bit as they are.
  StatusOr<protocol::PushDone> Push(PushKind kind, std::span<const std::byte> payload,
                                    const Tally& tally, Version based_on);
  // The same of gradients that come in pieces while they are computed. Begin: null where it cannot;
  // then it is for Push. What was begun is over before the next Begin or Push.
  std::unique_ptr<rpc::BegunPush> Begin();
  StatusOr<protocol::PushDone> Seal(rpc::BegunPush& push, const Tally& tally, Version based_on);
  // Of the next push, or of what is said instead. Of who pushes.
  Sequence next_sequence() const { return next_sequence_; }
  // Instead of a push.
  protocol::Abandoned Abandon(sync::AbandonReason reason, std::vector<protocol::LeaseId> leases);

 private:
  // Asks for the version, of so many bytes, and for what takes its place as long as it is
  // superseded: `ask` says what is there, or nothing, and then so does this.
  template <class Ask>
  StatusOr<std::optional<rpc::PullReport>> Find(Version version, uint64_t bytes, const Ask& ask);
  protocol::PushDone Done(const rpc::PushReport& report, uint64_t bytes, const Tally& tally,
                          Version based_on, std::string non_finite_tensor);

  const WorkerId worker_;
  const Incarnation incarnation_;
  const Generation generation_;
  const std::unique_ptr<rpc::ParameterClient> shards_;
  const store::Layout layout_;
  Pulse* const pulse_;
  Sequence next_sequence_{1};
  std::atomic<uint64_t> announced_ = 0;

  std::mutex mutex_;                     // Guards what is below.
  std::map<Version, uint32_t> spreads_;  // Of what was pulled, as far as not pushed on yet.
  protocol::Traffic traffic_;            // Since the last push.
};

}  // namespace paceline::worker
