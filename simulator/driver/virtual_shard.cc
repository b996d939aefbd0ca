#include "simulator/driver/virtual_shard.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"

namespace paceline::simulator {

VirtualShard::VirtualShard(Values initial, double momentum)
    : momentum_(momentum), optimizer_(momentum), outer_(0), sum_(initial.size()) {
  published_.fill({Version(0), std::make_shared<const Values>(std::move(initial))});
}

VirtualShard::Staged* VirtualShard::Find(const store::PushId& push) {
  const auto of_worker = staged_.find(push.worker);
  if (of_worker == staged_.end()) return nullptr;
  const auto found = std::ranges::find(of_worker->second, push, &Staged::push);
  return found == of_worker->second.end() ? nullptr : &*found;
}

std::optional<VirtualShard::Staged> VirtualShard::Take(const store::PushId& push) {
  Staged* const found = Find(push);
  if (found == nullptr) return std::nullopt;
  Staged taken = std::move(*found);
  std::vector<Staged>& of_worker = staged_[push.worker];
  if (found != &of_worker.back()) *found = std::move(of_worker.back());
  of_worker.pop_back();
  return taken;
}

void VirtualShard::Stage(const store::PushId& push, Values values, double seconds) {
  Staged staged{.push = push, .values = std::move(values), .seconds = seconds};
  if (Staged* const again = Find(push); again != nullptr) {
    *again = std::move(staged);
  } else {
    staged_[push.worker].push_back(std::move(staged));
  }
}

void VirtualShard::Accumulate(const store::PushId& push) {
  if (Staged* const found = Find(push); found != nullptr) found->is_accumulated = true;
}

double VirtualShard::Drop(const store::PushId& push) {
  const std::optional<Staged> taken = Take(push);
  return taken ? taken->seconds : 0;
}

VirtualShard::Fenced VirtualShard::Fence(WorkerId worker, Incarnation incarnation) {
  Fenced fenced;
  std::erase_if(staged_[worker], [&](const Staged& one) {
    if (one.push.incarnation > incarnation || one.is_accumulated) return false;
    ++fenced.pushes;
    fenced.seconds += one.seconds;
    return true;
  });
  return fenced;
}

protocol::Committed VirtualShard::Commit(const protocol::CommitAll& order) {
  std::fill(sum_.begin(), sum_.end(), 0.0);
  for (const protocol::AccumulateOrder& one : order.pushes) {
    const std::optional<Staged> taken = Take(one.push);
    PACELINE_CHECK(taken.has_value(), "{} is not staged", ToString(one.push));
    for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += one.weight * taken->values[i];
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
