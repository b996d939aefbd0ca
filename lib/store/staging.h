// Defines StagingArea: the slots into which pushes are copied before anybody decides about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/store/push.h"
#include "lib/store/recycler.h"
#include "lib/store/region.h"

namespace paceline::store {

// Thread-safe. Locks are held for bookkeeping only, never while bytes are read, written or
// allocated.
//
// Memory: slots_per_worker x (workers that pushed) x slice_bytes, and one more slice for each
// transfer that was taken over and is still running. Forget gives a worker's part back. Memory that
// a sender brought (PushMemory) is of that sender alone: nobody else's push ever lies there.
class StagingArea {
 public:
  struct Options {
    size_t slice_bytes = 0;
    uint32_t slots_per_worker = 1;
    uint32_t workers_max = 1024;
    std::function<Receipt(std::span<const std::byte>)> judge;  // Makes the answer to a whole push.
  };
  explicit StagingArea(Options options);

  // For transfers: as Shard::Stage and Shard::Seal say.
  StatusOr<Staging> Stage(const PushId& id,
                          const std::shared_ptr<const PushMemory>& memory = nullptr);
  StatusOr<std::shared_ptr<const Receipt>> Seal(const PushId& id, uint64_t ticket,
                                                std::optional<Receipt> judged = std::nullopt);

  // For orders. A sealed push, which nobody else gets or frees until Finish; null if there is none
  // of this id.
  std::shared_ptr<const Region> Begin(const PushId& id);
  // Begun, and its bytes are read once more later, until Finish: a push that needs the slot before
  // then takes it, and other bytes. Whoever began it holds on to the bytes.
  void Defer(const PushId& id);
  void Finish(const PushId& id);  // Frees the slot, if it still has it.
  void Drop(const PushId& id);
  void Forget(WorkerId worker, Incarnation last);

 private:
  enum class SlotState { kFree, kFilling, kSealed, kInUse, kDeferred };
  struct Slot {
    SlotState state = SlotState::kFree;
    PushId id;
    uint64_t ticket = 0;
    std::shared_ptr<Region> bytes;  // Null until first used, and after a transfer lost it.
    std::shared_ptr<const PushMemory> memory;  // Which made `bytes`; null: the area itself.
    std::shared_ptr<const Receipt> receipt;
  };
  struct Answer {
    Sequence sequence;
    std::shared_ptr<const Receipt> receipt;
  };
  struct Worker {
    Incarnation incarnation;
    std::vector<Slot> slots;
    std::deque<Answer> answers;  // To pushes that left their slot, newest last.
  };

  // All of these hold the lock.
  StatusOr<Worker*> Admit(const PushId& id);
  StatusOr<Slot*> ChooseSlot(Worker& worker, const PushId& id);
  Slot* FindSlot(const PushId& id);
  std::shared_ptr<const Receipt> FindAnswer(const PushId& id);
  // Without its bytes where somebody may still write or read them.
  void Free(Slot& slot);
  void Remember(const PushId& id, std::shared_ptr<const Receipt> receipt);
  size_t WorkersWithSlots() const;

  const Options options_;
  Recycler<Region> recycler_;
  std::mutex mutex_;
  std::map<WorkerId, Worker> workers_;
  uint64_t tickets_ = 0;
};

}  // namespace paceline::store
