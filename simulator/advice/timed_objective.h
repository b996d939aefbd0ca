// Defines TimedObjective: another objective that is at its end when the time is.
#pragma once

#include <functional>
#include <span>
#include <utility>

#include "simulator/model/objective.h"

namespace paceline::simulator {

// Seconds of a clock that never goes back.
using Clock = std::function<double()>;

// Once `now` says `until`, a life of it ends with DeadlineExceeded.
class TimedObjective final : public Objective {
 public:
  // `inner` outlives it.
  TimedObjective(Objective& inner, Clock now, double until)
      : inner_(inner), now_(std::move(now)), until_(until) {}

  Values Begin(uint64_t seed) override { return inner_.Begin(seed); }
  double Loss(const Values& at) override {
    Look();
    return inner_.Loss(at);
  }
  double Gradient(const Values& at, std::span<const EpochRange> samples, RandomStream& chance,
                  Values& gradient) override {
    Look();
    return inner_.Gradient(at, samples, chance, gradient);
  }
  const Status& status() const override { return status_.ok() ? inner_.status() : status_; }

 private:
  void Look() {
    if (now_() >= until_) status_ = DeadlineExceeded("there was no time left");
  }

  Objective& inner_;
  const Clock now_;
  const double until_;
  Status status_ = OkStatus();
};

}  // namespace paceline::simulator
