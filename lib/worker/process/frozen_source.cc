#include "lib/worker/process/frozen_source.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "lib/rpc/retry.h"
#include "lib/telemetry/log.h"

namespace paceline::worker {
namespace {

using protocol::FrozenAnswer;
using protocol::FrozenPart;
using protocol::FrozenState;
using telemetry::Log;
using telemetry::LogLevel;

constexpr int kRepeatsMax = 8;  // Of one piece.
constexpr Duration kPauseMin = std::chrono::milliseconds(50), kPauseMax = std::chrono::seconds(1);

Status GoOnWithout(const std::string& why) {
  Log(LogLevel::kWarning,
      "the model file will not hold the frozen parameters: load them as this script does",
      {{"why", why}});
  return OkStatus();
}

}  // namespace

Status HandOver(const FrozenSource& source, const HandOverOptions& options) {
  if (source.bytes == 0) return OkStatus();
  const FrozenPart asking{
      .of = source.of, .frozen = source.frozen, .sender = options.sender, .size = source.bytes};
  FrozenPart part = asking;
  Duration pause = kPauseMin;
  uint64_t furthest = 0;
  int repeats = 0;
  while (true) {
    if (options.is_cancelled()) return Cancelled("the worker leaves");
    const StatusOr<FrozenAnswer> answer = options.call(part);
    if (!answer.ok()) {
      const bool is_of_the_end = answer.status().code() == StatusCode::kCancelled;
      if (is_of_the_end || rpc::IsRetryable(answer.status())) return answer.status();
      return GoOnWithout(Message(answer.status()));  // A coordinator of a version before, say.
    }
    switch (answer->state) {
      case FrozenState::kHeld:
        return OkStatus();
      case FrozenState::kNotWanted:
      case FrozenState::kOther:
        return GoOnWithout(answer->why);
      case FrozenState::kBusy:
        part = asking;
        options.sleep(pause);
        pause = std::min(2 * pause, kPauseMax);
        continue;
      case FrozenState::kWanted:
        break;
    }
    if (answer->begin >= source.bytes)
      return GoOnWithout(fmt::format("byte {} of {} is wanted", answer->begin, source.bytes));
    repeats = answer->begin > furthest ? 0 : repeats + 1;
    furthest = std::max(furthest, answer->begin);
    if (repeats > kRepeatsMax)
      return GoOnWithout(fmt::format("nothing beyond byte {} arrives", furthest));
    part.frozen.clear();
    part.begin = answer->begin;
    part.bytes.resize(std::min(kFrozenPieceBytes, source.bytes - part.begin));
    if (!source.read(part.begin, part.bytes)) return GoOnWithout("they cannot be read");
  }
}

}  // namespace paceline::worker
