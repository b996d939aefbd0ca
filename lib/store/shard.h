// Defines Shard: one slice of the parameters, its staged pushes and its published versions.
//
// It knows no policy, no network and no clock: what counts is decided elsewhere and arrives as
// orders. Life: Create, fill initial_values(), Open (publishes the first version), then any number
// of Stage/Seal by transfer threads beside Accumulate/Drop/Commit by whoever carries out orders.
//
// Memory, in slices: slots_per_worker for each worker that pushed, at most two that are yet to be
// summed while their slots are taken again, two published versions and one
// in the making, what is pinned or still being read beyond these, one sum, and the optimizer's
// state (0 to 2); with a moving average that, and one more for each version that is pinned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/outer_step.h"
#include "lib/base/push_kind.h"
#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/optim/optimizer.h"
#include "lib/optim/parameter_groups.h"
#include "lib/store/grouped_optimizer.h"
#include "lib/store/layout.h"
#include "lib/store/meter.h"
#include "lib/store/moving_average.h"
#include "lib/store/published.h"
#include "lib/store/push.h"
#include "lib/store/slice_parts.h"

namespace paceline::store {

struct CommitOrder {
  Version version;                      // The version to publish; the current one's successor.
  double gradient_scale = 1;            // Times the open sum gives the mean gradient.
  double clip_scale = 1;                // From gradientClipNorm; times the mean gradient.
  double learning_rate = 0;             // All scales and the schedule included. Of gradients.
  bool is_pinned = false;               // Keep the version until Unpin.
  PushKind kind = PushKind::kGradient;  // Deltas are added, without clipping or optimizer...
  std::optional<OuterStep> outer;       // ...plainly, or as this says. Of deltas.
  std::vector<TrustRatio> trust_ratios = {};  // Of a layer-wise optimizer and gradients.
  // Tensors that none of the pushes had a gradient of, by place in the layout, ascending: the step
  // leaves them out, the outer one too (GroupedOptimizer::LeaveOut).
  std::vector<uint32_t> without_gradient = {};
};

class Shard {
 public:
  struct Options {
    Layout layout;  // Of the whole model.
    Slice slice;    // What this shard holds, one of SliceOverShards; may be empty.
    optim::OptimizerOptions optimizer;
    std::vector<optim::ParameterGroup> parameter_groups = {};
    std::optional<double> average_decay = std::nullopt;  // Absent: no moving average is kept.
    uint32_t slots_per_worker = 1;                       // Two for keep-going pacings.
    uint32_t workers_max =
        1024;  // Staging slots are made on first use and refused beyond this many workers.
    Meter* meter = nullptr;     // Counts the blocks of orders; outlives the shard.
    bool is_shareable = false;  // Other processes may map what is published, if the kernel can.
  };
  // InvalidArgument, naming the option.
  static StatusOr<std::unique_ptr<Shard>> Create(Options options);
  ~Shard();

  // --- Startup: one thread at a time.
  std::span<std::byte> initial_values();  // To be filled before Open; empty afterwards.
  // Before Open, to be filled: an earlier version, or the first one, that is pinned from the start;
  // what is read of its average, where one is kept, are the same bytes. Once.
  std::span<std::byte> NewKept(Version version);
  // Publishes the first version: 0, or a checkpoint's. InvalidArgument, naming the tensor, if a
  // parameter is not finite: nothing is published then. FailedPrecondition if it is open already.
  Status Open(Version first = Version(0));

  // --- Transfer threads. Thread-safe, never blocks on an order that runs.
  // A place to copy a push into, this slice's part only. The same id again while it is being
  // filled: the newer transfer takes over and the older one's Seal fails with Aborted; so does a
  // later sequence that finds no other slot. ResourceExhausted if all slots of the worker hold
  // unanswered pushes: soon they will not. OutOfRange for too many workers; FailedPrecondition
  // before Open, and for a push that was answered several pushes ago. An id of an older incarnation
  // than the worker's newest: PermissionDenied. A newer incarnation frees the worker's slots that
  // are not accumulated. With `memory` the bytes lie in what it makes, now or at an earlier call
  // with the same pointer: of a sender that ends one transfer before it begins the next. Its error
  // is Stage's.
  using Staging = store::Staging;
  StatusOr<Staging> Stage(const PushId& id,
                          const std::shared_ptr<const PushMemory>& memory = nullptr);
  // The push is whole. Aborted if it was dropped or another transfer took the slot over. `judged`
  // is what a judge of this shard said of exactly these bytes; without it they are all judged here.
  StatusOr<std::shared_ptr<const Receipt>> Seal(const PushId& id, uint64_t ticket,
                                                std::optional<Receipt> judged = std::nullopt);
  PushJudge NewJudge() const;

  // --- Orders: one thread at a time.
  // Adds weight x the push to the open sum and frees its slot; its bytes may be read as late as by
  // the commit. NotFound if the push is not staged and sealed here. Again
  // with the same id, in its own round or the next: nothing happens, OK. InvalidArgument if
  // `weight` is not finite, or negative; with 0 the push counts for nothing. Weights are rounded to
  // float32 (samples are exact up to 2^24).
  Status Accumulate(const PushId& id, double weight);
  void Drop(
      const PushId& id);  // Frees the slot; nothing if there is none. Never an accumulated one.
  // Frees the memory of all its slots; its incarnation stays known. Nothing if a life after `last`
  // has staged a push already.
  void Forget(WorkerId worker, Incarnation last);
  std::vector<double> SumBlockNorms()
      const;  // Squared norms of the open sum, a block each, as in Receipt.
  // Of a layer-wise optimizer: the norms of the step that a commit with these scales would make;
  // see GroupedOptimizer::Norms. Empty of all others, and where the sum is.
  std::vector<TensorNorms> PrepareNorms(double gradient_scale, double clip_scale) const;
  // Applies the optimizer to the open sum, or adds deltas, averages the buffers by weight,
  // publishes. A commit of deltas resets what the optimizer has learnt: it is of other parameters
  // by the next gradient. So does a commit of gradients, or of deltas that are added plainly, with
  // the outer step's momentum, which no checkpoint holds. Returns the squared norms of the mean
  // gradient or delta (before clipping), a block each. The same version again: nothing happens, the
  // first answer. FailedPrecondition for any other version than the successor, an empty sum, or
  // before Open; InvalidArgument for a scale that is not finite. Nothing is changed then.
  StatusOr<std::vector<double>> Commit(const CommitOrder& order);
  void Unpin(Version version);
  // For checkpoints, of this slice's parameters only; to be restored before Open.
  GroupedOptimizer& optimizer();
  MovingAverage* average();  // Null without one.

  // --- Readers. Thread-safe; never waits for a commit.
  // The version, if it is among the newest two, pinned, or held by anybody. NotFound otherwise
  // ("superseded") or if it is not published yet.
  StatusOr<std::shared_ptr<const Published>> Get(Version version) const;
  std::shared_ptr<const Published> Newest() const;  // Null before Open.
  // The same slice with averages in the place of parameters, of a version that is pinned or the
  // newest; for that one it may wait for a commit. NotFound of others ("superseded");
  // InvalidArgument where no average is kept.
  StatusOr<std::shared_ptr<const Published>> AverageOf(const Published& version) const;

  const Layout& layout() const;
  Slice slice() const;

 private:
  struct State;
  explicit Shard(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace paceline::store
