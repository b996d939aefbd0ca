// Defines StepTimes: how long a worker's steps took lately, as seconds for each sample.
//
// A step that is given up shows only that it would have taken longer. Left out, only the fast steps
// of a worker would be seen; so it counts as the mean of what was seen to take longer than that
// (docs/schemes/auto.md).
//
// Whether a worker has become another one is judged by what was seen alone: by how long steps took,
// and by how long those ran that were given up.
#pragma once

#include <cstddef>
#include <deque>

namespace paceline::sync {

class StepTimes {
 public:
  static constexpr size_t kKept = 32;

  // A step ended after so long.
  void Add(double seconds);
  // A step was given up at that age.
  void AddAborted(double age);

  size_t size() const { return steps_.size(); }

  // Of these with a step that has been running for `age` so far and is slower than any of them: it
  // has a fifth of the weight. Where no step has ended, nothing else is known.
  double Mean(double age = 0) const;
  // What the `turn`th step is taken to need, turns going round.
  double At(size_t turn, double age = 0) const;

  // Whether the last Add found that the worker has become another one; what was before is gone.
  bool has_changed() const { return has_changed_; }

 private:
  struct Step {
    double seconds = 0;  // As taken.
    double seen = 0;     // It took this, or no less if it was given up.
    bool is_whole = true;
  };

  void Push(const Step& step);
  void ForgetBeforeChange();
  size_t ShareOfRunning(double age) const;

  std::deque<Step> steps_;  // The oldest first.
  bool has_changed_ = false;
};

}  // namespace paceline::sync
