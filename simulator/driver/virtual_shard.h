// Defines VirtualShard: the parameter server's one shard as a model, which holds values and sums
// gradients.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "lib/base/ids.h"
#include "lib/base/version.h"
#include "lib/protocol/shard_messages.h"
#include "lib/store/push.h"
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

  void Stage(WorkerId worker, Sequence sequence, Values gradient);
  void Drop(const store::PushId& push);
  // The mean gradient's step, and the next version. Of gradients alone.
  protocol::Committed Commit(const protocol::CommitAll& order);

  const Copy& newest() const { return published_.back(); }
  // The one that is asked for, or the newest where it is gone: shards keep two.
  const Copy& Get(Version version) const;

 private:
  using PushKey = std::pair<WorkerId, Sequence>;
  std::map<PushKey, Values> staged_;
  MomentumStep optimizer_;
  Values sum_;
  std::array<Copy, 2> published_;
};

}  // namespace paceline::simulator
