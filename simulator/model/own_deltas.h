// Defines OwnDeltas: what a worker has pushed and not yet seen in a version that it pulled, as
// lib/worker's.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "lib/base/ids.h"
#include "simulator/model/quadratic.h"

namespace paceline::simulator {

// A value.
class OwnDeltas {
 public:
  // Pushed under that name, in order. Empty: nothing of it will ever be in a version.
  void Add(Sequence sequence, Values delta) { kept_.emplace_back(sequence, std::move(delta)); }
  // All up to that one were answered: what was accepted of them is in the version.
  void Answered(std::optional<Sequence> includes) {
    while (!kept_.empty() && includes && kept_.front().first <= *includes) kept_.pop_front();
  }
  size_t size() const { return kept_.size(); }
  // On top of a version, in the order in which they were pushed.
  void AddTo(Values& values) const {
    for (const auto& [sequence, delta] : kept_) {
      for (size_t i = 0; i < delta.size(); ++i) values[i] += delta[i];
    }
  }

 private:
  std::deque<std::pair<Sequence, Values>> kept_;
};

}  // namespace paceline::simulator
