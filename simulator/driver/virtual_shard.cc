#include "simulator/driver/virtual_shard.h"

#include <utility>

#include "lib/base/check.h"

namespace paceline::simulator {

VirtualShard::VirtualShard(Values initial, double momentum)
    : momentum_(momentum), optimizer_(momentum), outer_(0), sum_(initial.size()) {
  published_.fill({Version(0), std::make_shared<const Values>(std::move(initial))});
}

void VirtualShard::Stage(const store::PushId& push, Values values, double seconds) {
  staged_.insert_or_assign(push, Staged{std::move(values), seconds});
}

void VirtualShard::Accumulate(const store::PushId& push) {
  if (const auto found = staged_.find(push); found != staged_.end())
    found->second.is_accumulated = true;
}

double VirtualShard::Drop(const store::PushId& push) {
  const auto found = staged_.find(push);
  if (found == staged_.end()) return 0;
  const double seconds = found->second.seconds;
  staged_.erase(found);
  return seconds;
}

VirtualShard::Fenced VirtualShard::Fence(WorkerId worker, Incarnation incarnation) {
  Fenced fenced;
  for (auto it = staged_.lower_bound({worker, {}, {}});
       it != staged_.end() && it->first.worker == worker && it->first.incarnation <= incarnation;) {
    if (it->second.is_accumulated) {
      ++it;
      continue;
    }
    ++fenced.pushes;
    fenced.seconds += it->second.seconds;
    it = staged_.erase(it);
  }
  return fenced;
}

protocol::Committed VirtualShard::Commit(const protocol::CommitAll& order) {
  std::fill(sum_.begin(), sum_.end(), 0.0);
  for (const protocol::AccumulateOrder& one : order.pushes) {
    const auto found = staged_.find(one.push);
    PACELINE_CHECK(found != staged_.end(), "{} is not staged", ToString(one.push));
    for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += one.weight * found->second.values[i];
    staged_.erase(found);
  }
  for (double& value : sum_) value *= order.commit.gradient_scale;
  const double squared_norm = SquaredNorm(sum_);
  Values next = Next(order.commit);
  committed_.push_back({order.commit.version, std::make_shared<const Values>(std::move(next))});
  return {order.commit.version, {squared_norm}};
}

void VirtualShard::Publish() {
  published_[0] = std::exchange(published_[1], std::move(committed_.front()));
  committed_.pop_front();
}

// As lib/store's: what an optimizer has learnt is forgotten where the other kind of pushes comes,
// or another outer step.
Values VirtualShard::Next(const store::CommitOrder& commit) {
  Values next = *last().values;
  if (commit.kind == PushKind::kGradient) {
    outer_step_.reset();
    for (double& value : sum_) value *= commit.clip_scale;
    optimizer_.Apply(sum_, commit.learning_rate, next);
    return next;
  }
  optimizer_ = MomentumStep(momentum_);
  const std::optional<OuterStep> before = std::exchange(outer_step_, commit.outer);
  if (!commit.outer) {
    for (size_t i = 0; i < next.size(); ++i) next[i] += sum_[i];
    return next;
  }
  const OuterStep& step = *commit.outer;
  if (!before || before->momentum != step.momentum || before->is_nesterov != step.is_nesterov)
    outer_ = MomentumStep(step.momentum, step.is_nesterov);
  for (double& value : sum_) value = -value;
  outer_.Apply(sum_, step.learning_rate, next);
  return next;
}

const Copy& VirtualShard::Get(Version version) const {
  return published_[0].version == version ? published_[0] : published_[1];
}

}  // namespace paceline::simulator
