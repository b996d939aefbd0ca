// Defines Adoption: how a worker gets the frozen tensors that another one has handed over first, in
// the place of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/protocol/frozen_file.h"
#include "lib/worker/process/frozen_source.h"

namespace paceline::worker {

// One thread at a time.
class Adoption {
 public:
  struct Options {
    FrozenSource source;    // Its own; handed over where nobody was before it.
    bool is_handed = true;  // False: it waits until somebody has handed over.
    std::string sender;     // protocol/frozen_file.h
    std::function<StatusOr<protocol::FrozenAnswer>(const protocol::FrozenPart&)> call;
    // Is given what another has handed over, in order; from 0 on again where that was replaced.
    // False: it cannot be kept.
    std::function<bool(uint64_t begin, uint64_t size, std::span<const std::byte> bytes)> take;
    std::function<Time()> now;
    Duration patience = Seconds(600);  // With a coordinator that does not answer.
  };
  enum class State {
    kGoesOn,  // Step again, at once...
    kWaits,   // ...or in a moment.
    kOwn,     // Its own values are the first ones.
    kTaken,   // `take` has all of another's.
  };
  explicit Adoption(Options options);

  // One piece on. Blocks for one call. FailedPrecondition: there are none to be had, and why.
  StatusOr<State> Step();

 private:
  StatusOr<State> Send(uint64_t begin);
  StatusOr<State> Take(const protocol::FrozenAnswer& answer);

  const Options options_;
  protocol::FrozenPart part_;
  std::string of_;      // What is being taken.
  uint64_t taken_ = 0;  // Of it.
  Time heard_;
};

}  // namespace paceline::worker
