#include "simulator/driver/virtual_shard.h"

#include "lib/base/check.h"

namespace paceline::simulator {

VirtualShard::VirtualShard(Values initial, double momentum)
    : optimizer_(momentum), sum_(initial.size()) {
  published_.fill({Version(0), std::make_shared<const Values>(std::move(initial))});
}

void VirtualShard::Stage(WorkerId worker, Sequence sequence, Values gradient) {
  staged_.insert_or_assign({worker, sequence}, std::move(gradient));
}

void VirtualShard::Drop(const store::PushId& push) { staged_.erase({push.worker, push.sequence}); }

protocol::Committed VirtualShard::Commit(const protocol::CommitAll& order) {
  std::fill(sum_.begin(), sum_.end(), 0.0);
  for (const protocol::AccumulateOrder& one : order.pushes) {
    const auto found = staged_.find({one.push.worker, one.push.sequence});
    PACELINE_CHECK(found != staged_.end(), "{} is not staged", ToString(one.push));
    for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += one.weight * found->second[i];
    staged_.erase(found);
  }
  for (double& value : sum_) value *= order.commit.gradient_scale;
  const double squared_norm = SquaredNorm(sum_);
  for (double& value : sum_) value *= order.commit.clip_scale;
  Values next = *newest().values;
  optimizer_.Apply(sum_, order.commit.learning_rate, next);
  published_[0] = std::move(published_[1]);
  published_[1] = {order.commit.version, std::make_shared<const Values>(std::move(next))};
  return {order.commit.version, {squared_norm}};
}

const Copy& VirtualShard::Get(Version version) const {
  return published_[0].version == version ? published_[0] : published_[1];
}

}  // namespace paceline::simulator
