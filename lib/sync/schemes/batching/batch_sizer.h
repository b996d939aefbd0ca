// Defines BatchSizer: shares the global batch out over the workers of a step.
//
// A barrier policy owns one. It tells it of everything that bears on speed and memory, and asks for
// shares when a step begins; it never waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/sync/contract/event.h"
#include "lib/sync/contract/figure.h"

namespace paceline::sync {

// One owner at a time; pure, as Policy is: equal calls give equal shares.
class BatchSizer {
 public:
  virtual ~BatchSizer() = default;

  virtual void Joined(WorkerId) {}
  virtual void Left(WorkerId) {}

  // A finite push of a member, be it used or too late: both tell how fast the worker is.
  virtual void Arrived(const PushArrived&) {}

  // A step did not fit the worker's memory; at least one sample is believed to.
  virtual void RanOutOfMemory(WorkerId, uint32_t /*samples_fit*/) {}

  // A step was closed: its sum is committed, the next ShareOut begins another.
  virtual void StepClosed() {}

  // That step's version is published and its releases are out.
  virtual void StepPublished() {}

  // Samples of each of `workers`, which ascend, in their order; at least 1 each. They are all
  // members but those who are silent; who is not among them keeps what it was given. For each step
  // anew, and again for one that begins anew without having been closed.
  virtual std::vector<uint32_t> ShareOut(const std::vector<WorkerId>& workers) = 0;

  // For the commit of the step last shared out: below 1 if the workers could not hold the batch.
  virtual double LearningRateScale() const { return 1; }

  // As Policy's.
  virtual bool WantsSpare() const { return false; }
  virtual void UseSpare(uint32_t /*budget*/) {}
  virtual void Tell(std::vector<Figure>&) const {}
  virtual std::string Save() const { return ""; }
  virtual std::unique_ptr<BatchSizer> Clone() const = 0;

  // The whole state on one line: equal lines, equal futures.
  virtual std::string DebugString() const { return ""; }
};

}  // namespace paceline::sync
