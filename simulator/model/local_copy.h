// Defines LocalCopy: a worker's own copy of the values with an optimizer of its own, and what of it
// is not pushed yet: the difference to the snapshot. As lib/worker's LocalSteps.
#pragma once

#include "simulator/model/quadratic.h"

namespace paceline::simulator {

class LocalCopy {
 public:
  explicit LocalCopy(double momentum) : momentum_(momentum), optimizer_(momentum) {}

  const Values& values() const { return values_; }

  // Nothing is unpushed: the copy is that version, ...
  void Begin(const Values& version) { values_ = snapshot_ = version; }
  // ...or what is unpushed goes on top of it.
  void Rebase(const Values& version);
  void Step(const Values& gradient, double rate) { optimizer_.Apply(gradient, rate, values_); }
  // What is unpushed, times `scale`; the copy keeps so much of it, and from now on it is pushed.
  Values Cut(double scale = 1);
  // The optimizer begins anew.
  void Forget() { optimizer_ = MomentumStep(momentum_); }

 private:
  double momentum_;
  MomentumStep optimizer_;
  Values values_, snapshot_;
};

}  // namespace paceline::simulator
