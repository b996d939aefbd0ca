// Defines VirtualShard: the parameter server's one shard as a model, which holds values and sums
// gradients.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "lib/base/id_table.h"
#include "lib/base/ids.h"
#include "lib/base/version.h"
#include "lib/protocol/shard_messages.h"
#include "lib/store/push.h"
#include "lib/store/shard.h"
#include "simulator/model/quadratic.h"

namespace paceline::simulator {

using SharedValues = std::shared_ptr<const Values>;

// A version and its values.
struct Copy {
  Version version;
  SharedValues values;
};

class VirtualShard {
 public:
  VirtualShard(Values initial, double momentum);

  // What took so long to compute.
  void Stage(const store::PushId& push, Values values, double seconds);
  void Accumulate(const store::PushId& push);
  // How long it took to compute.
  double Drop(const store::PushId& push);
  // That life of the worker is over, and all before it: what of them is not accumulated is dropped.
  struct Fenced {
    uint64_t pushes = 0;
    double seconds = 0;
  };
  Fenced Fence(WorkerId worker, Incarnation incarnation);
  // The next version: by the mean gradient's step, or the sum of deltas. Nobody has it before it is
  // published, in the order of commits.
  protocol::Committed Commit(const protocol::CommitAll& order);
  void Publish();

  const Copy& newest() const { return published_.back(); }
  // The one that is asked for, or the newest where it is gone: shards keep two.
  const Copy& Get(Version version) const;

 private:
  struct Staged {
    store::PushId push;
    Values values;
    double seconds = 0;
    bool is_accumulated = false;
  };
  // Null if there is none.
  Staged* Find(const store::PushId& push);
  // It goes, and is what comes back.
  std::optional<Staged> Take(const store::PushId& push);

  IdTable<WorkerId, std::vector<Staged>> staged_;  // Of each worker a few, in no order.
  const Copy& last() const { return committed_.empty() ? newest() : committed_.back(); }
  Values Next(const store::CommitOrder& commit);

  const double momentum_;
  MomentumStep optimizer_;
  std::optional<OuterStep> outer_step_;  // Of the last commit...
  MomentumStep outer_;                   // ...and what has its momentum.
  Values sum_;                           // Of the running commit.
  std::array<Copy, 2> published_;
  std::deque<Copy> committed_;  // And not published yet.
};

}  // namespace paceline::simulator
