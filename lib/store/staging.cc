#include "lib/store/staging.h"

#include <algorithm>

namespace paceline::store {

StagingArea::StagingArea(Options options)
    : options_(std::move(options)),
      recycler_([size = options_.slice_bytes] { return Region::Private(size); }, 2) {}

StatusOr<Staging> StagingArea::Stage(const PushId& id,
                                     const std::shared_ptr<const PushMemory>& memory) {
  std::shared_ptr<Region> fresh;
  while (true) {
    {
      std::lock_guard lock(mutex_);
      PACELINE_ASSIGN_OR_RETURN(Worker* const worker, Admit(id));
      if (auto receipt = FindAnswer(id)) return Staging{.sealed = std::move(receipt)};
      PACELINE_ASSIGN_OR_RETURN(Slot* const slot, ChooseSlot(*worker, id));
      if (slot->id == id && slot->state != SlotState::kFree && slot->state != SlotState::kFilling)
        return Staging{.sealed = slot->receipt};
      if (slot->state == SlotState::kDeferred) Free(*slot);
      // A slot taken from another transfer leaves its bytes to that transfer, which may still
      // write; but a sender with memory of its own has ended the one before.
      const bool is_same_sender = memory != nullptr && slot->memory == memory;
      const bool needs_bytes = slot->bytes == nullptr || slot->memory != memory ||
                               (slot->state == SlotState::kFilling && !is_same_sender);
      if (!needs_bytes || fresh != nullptr) {
        if (needs_bytes) slot->bytes = std::move(fresh);
        slot->memory = memory;
        slot->state = SlotState::kFilling;
        slot->id = id;
        slot->ticket = ++tickets_;
        slot->receipt = nullptr;
        return Staging{.bytes = slot->bytes->bytes(), .ticket = slot->ticket, .lease = slot->bytes};
      }
    }
    if (memory == nullptr) {
      fresh = recycler_.Take();
    } else {
      PACELINE_ASSIGN_OR_RETURN(fresh, (*memory)());
    }
  }
}

StatusOr<std::shared_ptr<const Receipt>> StagingArea::Seal(const PushId& id, uint64_t ticket,
                                                           std::optional<Receipt> judged) {
  std::shared_ptr<const Region> bytes;
  std::shared_ptr<const Receipt> receipt;
  if (judged) receipt = std::make_shared<const Receipt>(*std::move(judged));
  while (true) {
    {
      std::lock_guard lock(mutex_);
      PACELINE_RETURN_IF_ERROR(Admit(id).status());
      if (auto answer = FindAnswer(id)) return answer;
      Slot* const slot = FindSlot(id);
      if (slot == nullptr || slot->ticket != ticket) {
        return Aborted("push was dropped or taken over by another transfer: {}", ToString(id));
      }
      if (slot->state == SlotState::kFilling && receipt != nullptr) {
        slot->state = SlotState::kSealed;
        slot->receipt = receipt;
      }
      if (slot->state != SlotState::kFilling) return slot->receipt;
      bytes = slot->bytes;
    }
    receipt = std::make_shared<const Receipt>(options_.judge(bytes->bytes()));
  }
}

std::shared_ptr<const Region> StagingArea::Begin(const PushId& id) {
  std::lock_guard lock(mutex_);
  Slot* const slot = FindSlot(id);
  if (slot == nullptr || slot->state != SlotState::kSealed) return nullptr;
  slot->state = SlotState::kInUse;
  return slot->bytes;
}

void StagingArea::Defer(const PushId& id) {
  std::lock_guard lock(mutex_);
  if (Slot* const slot = FindSlot(id); slot != nullptr && slot->state == SlotState::kInUse)
    slot->state = SlotState::kDeferred;
}

void StagingArea::Finish(const PushId& id) {
  std::lock_guard lock(mutex_);
  Slot* const slot = FindSlot(id);
  if (slot == nullptr) return;
  if (slot->state != SlotState::kInUse && slot->state != SlotState::kDeferred) return;
  slot->state = SlotState::kInUse;  // Nobody reads it any more: the bytes stay.
  Free(*slot);
}

void StagingArea::Drop(const PushId& id) {
  std::lock_guard lock(mutex_);
  if (Slot* const slot = FindSlot(id);
      slot != nullptr && slot->state != SlotState::kInUse && slot->state != SlotState::kDeferred)
    Free(*slot);
}

void StagingArea::Forget(WorkerId worker, Incarnation last) {
  std::vector<Slot> freed;  // Destroyed after the lock is released.
  std::lock_guard lock(mutex_);
  const auto found = workers_.find(worker);
  if (found == workers_.end() || found->second.incarnation > last) return;
  auto& slots = found->second.slots;
  const auto first_freed = std::partition(
      slots.begin(), slots.end(), [](const Slot& slot) { return slot.state == SlotState::kInUse; });
  std::move(first_freed, slots.end(), std::back_inserter(freed));
  slots.erase(first_freed, slots.end());
  found->second.answers.clear();
}

StatusOr<StagingArea::Worker*> StagingArea::Admit(const PushId& id) {
  Worker& worker = workers_[id.worker];
  if (id.incarnation < worker.incarnation) {
    return PermissionDenied("push is of an older incarnation: got {}, newest {}", ToString(id),
                            worker.incarnation);
  }
  if (id.incarnation > worker.incarnation) {
    for (Slot& slot : worker.slots) {
      if (slot.state != SlotState::kInUse) Free(slot);
    }
    worker.answers.clear();
    worker.incarnation = id.incarnation;
  }
  return &worker;
}

StatusOr<StagingArea::Slot*> StagingArea::ChooseSlot(Worker& worker, const PushId& id) {
  if (Slot* const same = FindSlot(id)) return same;
  // A worker has at most as many pushes under way as it has slots: this one cannot be among them.
  if (worker.answers.size() > options_.slots_per_worker &&
      std::all_of(worker.answers.begin(), worker.answers.end(),
                  [&](const Answer& answer) { return id.sequence < answer.sequence; })) {
    return FailedPrecondition("push was answered long ago: {}", ToString(id));
  }
  for (Slot& slot : worker.slots) {
    if (slot.state == SlotState::kFree) return &slot;
  }
  if (worker.slots.size() < options_.slots_per_worker) {
    if (worker.slots.empty() && WorkersWithSlots() >= options_.workers_max) {
      return OutOfRange("workers with staged pushes: {} are the most allowed, {} is one more",
                        options_.workers_max, id.worker);
    }
    return &worker.slots.emplace_back();
  }
  for (Slot& slot : worker.slots) {
    if (slot.state == SlotState::kDeferred) return &slot;
  }
  for (Slot& slot : worker.slots) {
    if (slot.state == SlotState::kFilling && slot.id.sequence < id.sequence) return &slot;
  }
  return ResourceExhausted("all {} slots hold unanswered pushes: {} must wait",
                           options_.slots_per_worker, ToString(id));
}

StagingArea::Slot* StagingArea::FindSlot(const PushId& id) {
  const auto found = workers_.find(id.worker);
  if (found == workers_.end()) return nullptr;
  for (Slot& slot : found->second.slots) {
    if (slot.state != SlotState::kFree && slot.id == id) return &slot;
  }
  return nullptr;
}

std::shared_ptr<const Receipt> StagingArea::FindAnswer(const PushId& id) {
  const Worker& worker = workers_[id.worker];
  if (worker.incarnation != id.incarnation) return nullptr;
  for (const Answer& answer : worker.answers) {
    if (answer.sequence == id.sequence) return answer.receipt;
  }
  return nullptr;
}

void StagingArea::Free(Slot& slot) {
  if (slot.state == SlotState::kFilling || slot.state == SlotState::kDeferred) slot.bytes = nullptr;
  if (slot.receipt != nullptr) Remember(slot.id, std::move(slot.receipt));
  slot.receipt = nullptr;
  slot.state = SlotState::kFree;
}

void StagingArea::Remember(const PushId& id, std::shared_ptr<const Receipt> receipt) {
  Worker& worker = workers_[id.worker];
  if (worker.incarnation != id.incarnation) return;
  worker.answers.push_back({id.sequence, std::move(receipt)});
  if (worker.answers.size() > options_.slots_per_worker + 1) worker.answers.pop_front();
}

size_t StagingArea::WorkersWithSlots() const {
  return std::count_if(workers_.begin(), workers_.end(),
                       [](const auto& entry) { return !entry.second.slots.empty(); });
}

}  // namespace paceline::store
