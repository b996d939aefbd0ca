#include "ps-server/shard/shard_host.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/overloaded.h"
#include "lib/telemetry/clock.h"

namespace paceline::ps {
namespace {

// A slice of this size is committed in less time than it takes to wake a thread up for it.
constexpr uint64_t kSmallBytes = 512 * 1024;

}  // namespace

ShardHost::ShardHost(std::function<void(protocol::ShardMessage)> report, ShardMetrics* metrics,
                     SlicePlace place, Memory memory)
    : report_(std::move(report)),
      metrics_(metrics),
      memory_(memory),
      saver_(std::move(place), report_),
      thread_([this] { Run(); }) {}

ShardHost::~ShardHost() {
  {
    std::unique_lock lock(mutex_);
    is_stopping_ = true;
    wake_.notify_all();
    wake_.wait(lock, [this] { return !is_at_work_; });
  }
  thread_.join();
}

void ShardHost::Order(protocol::ShardOrder order) {
  std::unique_lock lock(mutex_);
  orders_.push_back(std::move(order));
  if (is_at_work_) return;  // Whoever it is takes this one along.
  if (is_small_) return Work(lock);
  wake_.notify_one();
}

void ShardHost::Run() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    wake_.wait(lock, [this] { return is_stopping_ || (!orders_.empty() && !is_at_work_); });
    // Another thread may be at work, which the destructor waits for.
    if (!is_stopping_) Work(lock);
  }
}

void ShardHost::Work(std::unique_lock<std::mutex>& lock) {
  is_at_work_ = true;
  while (!orders_.empty() && !is_stopping_) {
    const protocol::ShardOrder order = std::move(orders_.front());
    orders_.pop_front();
    const auto* const configure = std::get_if<protocol::Configure>(&order);
    const bool is_new = configure && (!generation_ || configure->generation > *generation_);
    lock.unlock();
    // What an earlier coordinator still sends is of no meaning here. After one failure the slice is
    // of no more use until a new generation: going on could commit another set than the other
    // shards.
    if (configure && !is_new) {
      report_(protocol::ShardFailed{"a newer generation is here", configure->generation});
    } else if (!has_failed_ || is_new) {
      const Status status = CarryOut(order);
      has_failed_ = !status.ok();
      if (!status.ok()) Fail(status);
    }
    lock.lock();
  }
  is_at_work_ = false;
  if (is_stopping_) wake_.notify_all();
}

void ShardHost::Fail(const Status& status) {
  std::optional<Generation> generation;
  {
    std::lock_guard lock(mutex_);
    generation = generation_;
  }
  report_(protocol::ShardFailed{Message(status), generation.value_or(Generation())});
}

Status ShardHost::CarryOut(const protocol::ShardOrder& order) {
  if (const auto* configure = std::get_if<protocol::Configure>(&order))
    return Configure(*configure);
  if (std::holds_alternative<protocol::StopShard>(order)) return OkStatus();
  std::shared_ptr<store::Shard> shard;
  {
    std::lock_guard lock(mutex_);
    shard = shard_;
  }
  if (shard == nullptr)
    return FailedPrecondition("order came before configure: order {}", order.index());
  return std::visit(Overloaded{
                        [&](const protocol::Open& open) { return Open(open); },
                        [&](const protocol::AccumulateOrder& one) {
                          return shard->Accumulate(one.push, one.weight);
                        },
                        [&](const protocol::DropOrder& drop) {
                          shard->Drop(drop.push);
                          if (metrics_ != nullptr) metrics_->Dropped();
                          return OkStatus();
                        },
                        [&](const protocol::Fence& fence) {
                          {
                            std::lock_guard lock(mutex_);
                            Incarnation& newest = fences_[fence.worker];
                            newest = std::max(newest, fence.incarnation);
                          }
                          shard->Forget(fence.worker, fence.incarnation);
                          return OkStatus();
                        },
                        [&](const protocol::Admit& admit) {
                          std::lock_guard lock(mutex_);
                          Incarnation& newest = admitted_[admit.worker];
                          newest = std::max(newest, admit.incarnation);
                          if (!admit.seat.group.empty()) seats_[admit.worker] = admit.seat;
                          return OkStatus();
                        },
                        [&](const protocol::Sum& sum) {
                          report_(protocol::Summed{sum.version, shard->SumBlockNorms()});
                          return OkStatus();
                        },
                        [&](const protocol::Prepare& prepare) { return Prepare(prepare); },
                        [&](const protocol::CommitAll& commit) { return CommitAll(commit); },
                        [&](const protocol::SaveSlice& save) { return saver_.Save(shard, save); },
                        [&](const protocol::Unpin& unpin) {
                          shard->Unpin(unpin.version);
                          return OkStatus();
                        },
                        [](const auto&) { return OkStatus(); },
                    },
                    order);
}

Status ShardHost::Configure(const protocol::Configure& order) {
  {
    std::lock_guard lock(mutex_);
    // From here on, transfers of the one before are refused.
    generation_ = order.generation;
    shard_.reset();
    fill_.reset();
    is_open_ = false;
    fences_.clear();
    admitted_.clear();
    seats_.clear();
  }
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<store::Shard> shard,
                            store::Shard::Create({.layout = order.layout,
                                                  .slice = order.slice,
                                                  .optimizer = order.optimizer,
                                                  .parameter_groups = order.parameter_groups,
                                                  .average_decay = order.average_decay,
                                                  .slots_per_worker = order.slots_per_worker,
                                                  .workers_max = order.workers_max,
                                                  .meter = &work_,
                                                  .is_shareable = memory_ == Memory::kShareable}));
  if (order.restore) {
    if (const Status restored = Restore(*shard, *order.restore); !restored.ok()) {
      report_(protocol::RestoreFailed{Message(restored), order.generation});
      return OkStatus();  // Another generation, with another checkpoint, may do better.
    }
  }
  {
    std::lock_guard lock(mutex_);
    shard_ = std::move(shard);
    is_small_ = order.slice.size_bytes() <= kSmallBytes;
    is_open_ = order.restore.has_value();
  }
  if (metrics_ != nullptr) metrics_->Configured(order.slice.size_bytes());
  report_(protocol::Configured{order.generation});
  if (order.restore) report_(protocol::Opened{});
  return OkStatus();
}

Status ShardHost::Restore(store::Shard& shard, const protocol::RestoreSlice& restore) {
  PACELINE_RETURN_IF_ERROR(saver_.Restore(shard, restore, &work_));
  return Annotate(shard.Open(restore.version), "checkpoint " + restore.checkpoint);
}

Status ShardHost::Open(const protocol::Open& order) {
  std::shared_ptr<store::Shard> shard;
  FillBuffer buffer;
  {
    std::lock_guard lock(mutex_);
    if (!fill_ || !fill_->is_complete || fill_->worker != order.worker ||
        fill_->incarnation != order.incarnation) {
      return FailedPrecondition("initial values are not complete: from {} {}", order.worker,
                                order.incarnation);
    }
    shard = shard_;
    buffer = fill_->buffer;
  }
  std::ranges::copy(*buffer, shard->initial_values().begin());
  PACELINE_RETURN_IF_ERROR(shard->Open());
  {
    std::lock_guard lock(mutex_);
    is_open_ = true;
    fill_.reset();
  }
  report_(protocol::Opened{});
  return OkStatus();
}

Status ShardHost::Prepare(const protocol::Prepare& order) {
  report_(protocol::Prepared{order.version,
                             shard_->PrepareNorms(order.gradient_scale, order.clip_scale)});
  return OkStatus();
}

Status ShardHost::CommitAll(const protocol::CommitAll& order) {
  const Time began = telemetry::SteadyNow();
  for (const protocol::AccumulateOrder& one : order.pushes) {
    PACELINE_RETURN_IF_ERROR(shard_->Accumulate(one.push, one.weight));
  }
  PACELINE_ASSIGN_OR_RETURN(std::vector<double> norms, shard_->Commit(order.commit));
  if (metrics_ != nullptr) {
    metrics_->Committed(order.commit.version, order.pushes.size(), telemetry::SteadyNow() - began);
  }
  report_(protocol::Committed{order.commit.version, std::move(norms)});
  return OkStatus();
}

StatusOr<std::shared_ptr<store::Shard>> ShardHost::Serving(const Generation& generation) const {
  std::lock_guard lock(mutex_);
  if (!generation_) return Unavailable("shard is not configured yet");
  if (*generation_ != generation) {
    return FailedPrecondition("generation differs: got {}, want {}", generation, *generation_);
  }
  if (shard_ == nullptr) return Unavailable("shard is not configured yet for {}", generation);
  return shard_;
}

StatusOr<ShardHost::FillBuffer> ShardHost::BeginFill(const Generation& generation, WorkerId worker,
                                                     Incarnation incarnation) {
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<store::Shard> shard, Serving(generation));
  auto buffer = std::make_shared<std::vector<std::byte>>(shard->slice().size_bytes());
  std::lock_guard lock(mutex_);
  if (is_open_) return FailedPrecondition("initial values are published already");
  fill_ = FillTurn{worker, incarnation, buffer};
  return buffer;
}

Status ShardHost::EndFill(const FillBuffer& buffer) {
  protocol::Filled filled;
  {
    std::lock_guard lock(mutex_);
    if (!fill_ || fill_->buffer != buffer)
      return Aborted("another worker fills in the initial values");
    fill_->is_complete = true;
    filled = {fill_->worker, fill_->incarnation};
  }
  report_(filled);
  return OkStatus();
}

Status ShardHost::CheckLife(WorkerId worker, Incarnation incarnation) const {
  std::lock_guard lock(mutex_);
  const auto admitted = admitted_.find(worker);
  if (admitted == admitted_.end() || incarnation > admitted->second)
    return Unavailable("life of the worker is not admitted here: {} {}", worker, incarnation);
  const auto fence = fences_.find(worker);
  const bool is_fenced = fence != fences_.end() && incarnation <= fence->second;
  if (!is_fenced && incarnation == admitted->second) return OkStatus();
  return FailedPrecondition("life of the worker is over: {} {}", worker, incarnation);
}

protocol::Seat ShardHost::SeatOf(WorkerId worker) const {
  std::lock_guard lock(mutex_);
  const auto found = seats_.find(worker);
  return found == seats_.end() ? protocol::Seat{"", worker.value()} : found->second;
}

}  // namespace paceline::ps
