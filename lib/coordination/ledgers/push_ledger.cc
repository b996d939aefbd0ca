#include "lib/coordination/ledgers/push_ledger.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"

namespace paceline::coordination {

void PushLedger::Begin(WorkerId worker, Incarnation incarnation) {
  Fence(worker);
  lives_[worker] = Life{incarnation, false, Sequence(), Sequence()};
}

PushLedger::Arrival PushLedger::Judge(const store::PushId& id) const {
  const auto found = lives_.find(id.worker);
  if (found == lives_.end()) return Arrival::kFenced;
  const Life& life = found->second;
  if (life.is_fenced || id.incarnation != life.incarnation) return Arrival::kFenced;
  if (id.sequence == life.arrived && life.arrived != Sequence()) return Arrival::kDuplicate;
  if (id.sequence > life.arrived && id.sequence <= life.spent.Next()) return Arrival::kNew;
  return Arrival::kOutOfOrder;
}

void PushLedger::Arrive(Push push) {
  PACELINE_CHECK(Judge(push.id) == Arrival::kNew, "{} {} of {} is not new", push.id.worker,
                 push.id.sequence, push.id.incarnation);
  Life& life = lives_[push.id.worker];
  life.arrived = push.id.sequence;
  life.spent = std::max(life.spent, push.id.sequence);
  staged_[Key{push.id.worker, push.id.sequence}] = std::move(push);
}

bool PushLedger::Abandon(const store::PushId& id) {
  if (Judge(id) != Arrival::kNew) return false;
  Life& life = lives_[id.worker];
  life.spent = std::max(life.spent, id.sequence);
  return true;
}

std::vector<Push> PushLedger::Fence(WorkerId worker) {
  std::vector<Push> left;
  const auto first = staged_.lower_bound(Key{worker, Sequence()});
  auto last = first;
  for (; last != staged_.end() && last->first.worker == worker; ++last) {
    left.push_back(std::move(last->second));
  }
  staged_.erase(first, last);
  if (const auto life = lives_.find(worker); life != lives_.end()) life->second.is_fenced = true;
  return left;
}

const Push* PushLedger::Accumulate(WorkerId worker, Sequence sequence, double weight) {
  const auto found = staged_.find(Key{worker, sequence});
  if (found == staged_.end()) return nullptr;
  found->second.weight = weight;
  open_sum_.push_back(std::move(found->second));
  staged_.erase(found);
  return &open_sum_.back();
}

std::optional<Push> PushLedger::Drop(WorkerId worker, Sequence sequence) {
  const auto found = staged_.find(Key{worker, sequence});
  if (found == staged_.end()) return std::nullopt;
  Push push = std::move(found->second);
  staged_.erase(found);
  return push;
}

const std::vector<Push>& PushLedger::Close(Version version) {
  PACELINE_CHECK(!closed_.contains(version), "{} is closed already", version);
  return closed_[version] = std::exchange(open_sum_, {});
}

std::vector<Push> PushLedger::Publish(Version version) {
  const auto found = closed_.find(version);
  if (found == closed_.end()) return {};
  std::vector<Push> pushes = std::move(found->second);
  closed_.erase(found);
  return pushes;
}

std::vector<Push> PushLedger::staged() const {
  std::vector<Push> pushes;
  for (const auto& [key, push] : staged_) pushes.push_back(push);
  return pushes;
}

std::optional<Sequence> PushLedger::Newest(WorkerId worker) const {
  const auto life = lives_.find(worker);
  if (life == lives_.end() || life->second.arrived == Sequence()) return std::nullopt;
  return life->second.arrived;
}

std::optional<Sequence> PushLedger::Running(WorkerId worker) const {
  const auto life = lives_.find(worker);
  if (life == lives_.end() || life->second.is_fenced) return std::nullopt;
  return life->second.spent.Next();
}

void PushLedger::ForgetUnpublished() {
  staged_.clear();
  open_sum_.clear();
}

bool PushLedger::Uses(WorkerId worker, protocol::LeaseId lease) const {
  auto at = staged_.lower_bound(Key{worker, Sequence()});
  for (; at != staged_.end() && at->first.worker == worker; ++at) {
    const std::vector<protocol::LeaseId>& leases = at->second.leases;
    if (std::find(leases.begin(), leases.end(), lease) != leases.end()) return true;
  }
  return false;
}

std::string PushLedger::Describe() const {
  std::string text = "lives";
  for (const auto& [worker, life] : lives_) {
    text += fmt::format(" {}{}{}{}-{}", worker, life.incarnation, life.is_fenced ? "x" : "",
                        life.arrived, life.spent);
  }
  text += "|staged";
  for (const auto& [key, push] : staged_) text += fmt::format(" {}{}", key.worker, key.sequence);
  text += "|sum";
  for (const Push& push : open_sum_) {
    text += fmt::format(" {}{}{}", push.id.worker, push.id.incarnation, push.id.sequence);
  }
  for (const auto& [version, pushes] : closed_) {
    text += fmt::format("|{}", version);
    for (const Push& push : pushes) {
      text += fmt::format(" {}{}{}", push.id.worker, push.id.incarnation, push.id.sequence);
    }
  }
  return text;
}

}  // namespace paceline::coordination
