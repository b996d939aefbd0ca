#include "lib/worker/process/adoption.h"

#include <algorithm>
#include <utility>

#include "lib/rpc/retry.h"

namespace paceline::worker {
namespace {

using protocol::FrozenAnswer;
using protocol::FrozenState;

Status NotThere(const std::string& why) {
  return FailedPrecondition("the first worker's frozen parameters cannot be had: {}", why);
}

}  // namespace

Adoption::Adoption(Options options) : options_(std::move(options)), heard_(options_.now()) {
  part_ = {.of = options_.source.of,
           .frozen = options_.source.frozen,
           .sender = options_.sender,
           .size = options_.is_handed ? options_.source.bytes : 0,
           .adopts = true};
}

StatusOr<Adoption::State> Adoption::Step() {
  const StatusOr<FrozenAnswer> answer = options_.call(part_);
  if (!answer.ok()) {
    if (!rpc::IsRetryable(answer.status())) return NotThere(Message(answer.status()));
    if (options_.now() - heard_ > options_.patience) return answer.status();
    return State::kWaits;
  }
  heard_ = options_.now();
  part_.bytes.clear();
  part_.begin = taken_;
  switch (answer->state) {
    case FrozenState::kHeld:
      return State::kOwn;
    case FrozenState::kNotWanted:
      return NotThere(answer->why);
    case FrozenState::kBusy:
      return State::kWaits;
    case FrozenState::kWanted:
      return Send(answer->begin);
    case FrozenState::kOther:
      return Take(*answer);
  }
  return NotThere("the coordinator says what this version does not know");
}

StatusOr<Adoption::State> Adoption::Send(uint64_t begin) {
  if (begin >= part_.size) return NotThere("more is wanted than there is");
  part_.begin = begin;
  part_.bytes.resize(std::min(kFrozenPieceBytes, part_.size - begin));
  if (!options_.source.read(begin, part_.bytes)) return NotThere("this worker's cannot be read");
  return State::kGoesOn;
}

StatusOr<Adoption::State> Adoption::Take(const FrozenAnswer& answer) {
  if (answer.of != std::exchange(of_, answer.of)) taken_ = 0;
  if (answer.begin != taken_ || answer.bytes.empty()) {
    part_.begin = taken_;
    return State::kGoesOn;
  }
  if (!options_.take(taken_, answer.size, answer.bytes))
    return NotThere("this worker cannot keep them");
  taken_ += answer.bytes.size();
  part_.begin = taken_;
  return taken_ < answer.size ? State::kGoesOn : State::kTaken;
}

}  // namespace paceline::worker
