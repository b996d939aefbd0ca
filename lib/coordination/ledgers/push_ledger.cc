#include "lib/coordination/ledgers/push_ledger.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/base/check.h"

namespace paceline::coordination {

std::vector<uint32_t> WithoutGradient(const std::vector<Push>& pushes) {
  if (pushes.empty()) return {};
  std::vector<uint32_t> all = pushes.front().without_gradient;
  for (size_t i = 1; i < pushes.size() && !all.empty(); ++i) {
    std::vector<uint32_t> both;
    std::ranges::set_intersection(all, pushes[i].without_gradient, std::back_inserter(both));
    all = std::move(both);
  }
  return all;
}

std::vector<std::pair<protocol::LeaseId, uint64_t>> SkippedOf(const LeaseLedger& leases,
                                                              const Push& push) {
  std::vector<std::pair<protocol::LeaseId, uint64_t>> found;
  uint64_t left = push.skipped;
  for (const protocol::LeaseId lease : push.leases) {
    const uint64_t of_it = std::min<uint64_t>(left, leases.size(lease));
    found.emplace_back(lease, of_it);
    left -= of_it;
  }
  return found;
}

double ScaleForSkipped(const std::vector<Push>& pushes) {
  double asked = 0, counted = 0;
  for (const Push& push : pushes) {
    asked += push.asked_weight;
    counted += push.weight;
  }
  return counted > 0 ? asked / counted : 1;
}

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
  life.staged.push_back(std::move(push));
  ++staged_;
}

bool PushLedger::Abandon(const store::PushId& id) {
  if (Judge(id) != Arrival::kNew) return false;
  Life& life = lives_[id.worker];
  life.spent = std::max(life.spent, id.sequence);
  return true;
}

std::vector<Push> PushLedger::Fence(WorkerId worker) {
  const auto life = lives_.find(worker);
  if (life == lives_.end()) return {};
  life->second.is_fenced = true;
  staged_ -= life->second.staged.size();
  return std::exchange(life->second.staged, {});
}

std::optional<Push> PushLedger::TakeStaged(WorkerId worker, Sequence sequence) {
  const auto life = lives_.find(worker);
  if (life == lives_.end()) return std::nullopt;
  std::vector<Push>& staged = life->second.staged;
  const auto found =
      std::ranges::find(staged, sequence, [](const Push& push) { return push.id.sequence; });
  if (found == staged.end()) return std::nullopt;
  Push push = std::move(*found);
  staged.erase(found);
  --staged_;
  return push;
}

const Push* PushLedger::Accumulate(WorkerId worker, Sequence sequence, double weight,
                                   PushKind kind) {
  std::optional<Push> push = TakeStaged(worker, sequence);
  if (!push) return nullptr;
  push->asked_weight = weight;
  push->weight = weight;
  if (push->skipped > 0 && kind == PushKind::kGradient)
    push->weight *= static_cast<double>(push->counted()) / push->samples;
  return &open_sum_.emplace_back(*std::move(push));
}

std::optional<Push> PushLedger::Drop(WorkerId worker, Sequence sequence) {
  return TakeStaged(worker, sequence);
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
  for (const auto& [worker, life] : lives_)
    pushes.insert(pushes.end(), life.staged.begin(), life.staged.end());
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
  for (auto& [worker, life] : lives_) life.staged.clear();
  staged_ = 0;
  open_sum_.clear();
}

bool PushLedger::Uses(WorkerId worker, protocol::LeaseId lease) const {
  const auto life = lives_.find(worker);
  return life != lives_.end() && std::ranges::any_of(life->second.staged, [&](const Push& push) {
           return std::ranges::find(push.leases, lease) != push.leases.end();
         });
}

std::string PushLedger::Describe() const {
  std::string text = "lives";
  for (const auto& [worker, life] : lives_) {
    text += fmt::format(" {}{}{}{}-{}", worker, life.incarnation, life.is_fenced ? "x" : "",
                        life.arrived, life.spent);
  }
  text += "|staged";
  for (const auto& [worker, life] : lives_)
    for (const Push& push : life.staged) text += fmt::format(" {}{}", worker, push.id.sequence);
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
