#include "lib/learn/data/batches.h"

#include <algorithm>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "lib/learn/catch_torch.h"

namespace paceline::learn {

Batches::Batches(const Dataset* data, size_t ahead, std::unique_ptr<BatchCarrier> carrier)
    : data_(data), ahead_(ahead), carrier_(std::move(carrier)) {}

Batches::~Batches() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Batch Batches::Take(std::span<const uint32_t> samples) {
  std::shared_ptr<Prepared> found;
  {
    std::unique_lock lock(mutex_);
    const auto at = Find(samples);
    if (at != expected_.end()) {
      ++counts_.expected;
      // Turns go in order: what was expected before it will not come any more.
      Forget(expected_.begin(), at);
      if ((*at)->stage != Stage::kWanted) found = *at;
      if (found != nullptr) changed_.wait(lock, [&] { return found->stage != Stage::kInWork; });
      expected_.pop_front();
      changed_.notify_all();
    }
  }
  if (found == nullptr || found->stage == Stage::kFailed) {
    ++counts_.gathered;
    const bool is_pinned = carrier_->wants_pinned();
    Batch batch = GatherOnHost(*data_, samples, is_pinned);
    if (const auto arrival = carrier_->Carry(batch)) arrival->Await(batch);
    return batch;
  }
  ++counts_.ready;
  if (found->arrival != nullptr) found->arrival->Await(found->batch);
  return std::move(found->batch);
}

void Batches::Expect(std::vector<std::vector<uint32_t>> next) {
  if (ahead_ == 0) return;
  std::lock_guard lock(mutex_);
  List expected;
  for (std::vector<uint32_t>& samples : next) {
    const auto known = Find(samples);
    if (known == expected_.end()) {
      expected.push_back(std::make_shared<Prepared>(Prepared{.samples = std::move(samples)}));
    } else {
      expected.splice(expected.end(), expected_, known);
    }
  }
  Forget(expected_.begin(), expected_.end());
  expected_ = std::move(expected);
  if (expected_.empty()) return;
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

Batches::List::iterator Batches::Find(std::span<const uint32_t> samples) {
  return std::ranges::find_if(expected_, [&](const std::shared_ptr<Prepared>& one) {
    return std::ranges::equal(one->samples, samples);
  });
}

void Batches::Forget(List::iterator begin, List::iterator end) {
  counts_.in_vain +=
      static_cast<uint64_t>(std::count_if(begin, end, [](const std::shared_ptr<Prepared>& one) {
        return one->stage == Stage::kInWork || one->stage == Stage::kReady;
      }));
  expected_.erase(begin, end);
}

void Batches::Run() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    const std::shared_ptr<Prepared> next = NextWanted();
    if (next == nullptr) {
      changed_.wait(lock);
      continue;
    }
    next->stage = Stage::kInWork;
    lock.unlock();
    // Whoever takes it gathers it again, and hears of what is wrong.
    const Status status = CatchTorch([&]() -> Status {
      Prepare(*next);
      return OkStatus();
    });
    lock.lock();
    next->stage = status.ok() ? Stage::kReady : Stage::kFailed;
    changed_.notify_all();
  }
}

std::shared_ptr<Batches::Prepared> Batches::NextWanted() const {
  size_t seen = 0;
  for (const std::shared_ptr<Prepared>& one : expected_) {
    if (seen++ == ahead_) break;
    if (one->stage == Stage::kWanted) return one;
  }
  return nullptr;
}

void Batches::Prepare(Prepared& one) {
  const at::NoGradGuard no_grad;
  one.batch = GatherOnHost(*data_, one.samples, carrier_->wants_pinned());
  one.arrival = carrier_->Carry(one.batch);
}

}  // namespace paceline::learn
