#include "lib/worker/pacings/own_deltas.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"

namespace paceline::worker {

void OwnDeltas::Add(std::span<const float> delta) {
  PACELINE_CHECK(delta.size() == size_, "got {} values, want {}", delta.size(), size_);
  std::vector<float> memory;
  if (!free_.empty()) {
    memory = std::move(free_.back());
    free_.pop_back();
  }
  memory.assign(delta.begin(), delta.end());
  kept_.push_back({std::nullopt, std::move(memory)});
}

void OwnDeltas::AddRejected() { kept_.push_back({}); }

void OwnDeltas::Name(Sequence sequence) {
  const auto unnamed =
      std::find_if(kept_.begin(), kept_.end(), [](const Kept& kept) { return !kept.sequence; });
  PACELINE_CHECK(unnamed != kept_.end(), "no push is left to be called {}", sequence);
  unnamed->sequence = sequence;
}

void OwnDeltas::Answered(Sequence includes) {
  while (!kept_.empty() && IsApplied(kept_.front(), includes)) Forget();
}

size_t OwnDeltas::LeftAfter(std::optional<Sequence> includes) const {
  return std::count_if(kept_.begin(), kept_.end(),
                       [&](const Kept& kept) { return !IsApplied(kept, includes); });
}

void OwnDeltas::Clear() {
  while (!kept_.empty()) Forget();
}

void OwnDeltas::Forget() {
  if (!kept_.front().delta.empty()) free_.push_back(std::move(kept_.front().delta));
  kept_.pop_front();
}

void OwnDeltas::AddTo(std::span<float> part, size_t begin, std::optional<Sequence> applied) const {
  PACELINE_CHECK(begin + part.size() <= size_, "got positions up to {}, want at most {}",
                 begin + part.size(), size_);
  for (const Kept& kept : kept_) {
    if (kept.delta.empty() || IsApplied(kept, applied)) continue;
    for (size_t i = 0; i < part.size(); ++i) part[i] += kept.delta[begin + i];
  }
}

}  // namespace paceline::worker
