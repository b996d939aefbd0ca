#include "lib/protocol/words.h"

namespace paceline::protocol {

std::string_view ToString(Role role) {
  switch (role) {
    case Role::kWorker:
      return "worker";
    case Role::kEvaluator:
      return "evaluator";
  }
  return "unknown";
}

std::string_view ToString(RefuseReason reason) {
  switch (reason) {
    case RefuseReason::kLayoutDiffers:
      return "layout-differs";
    case RefuseReason::kHoldsFrozen:
      return "holds-frozen";
    case RefuseReason::kNetworkDiffers:
      return "network-differs";
    case RefuseReason::kDataDiffers:
      return "data-differs";
    case RefuseReason::kUnknownWorker:
      return "unknown-worker";
    case RefuseReason::kAlreadyJoined:
      return "already-joined";
    case RefuseReason::kExpelled:
      return "expelled";
    case RefuseReason::kFinished:
      return "finished";
  }
  return "unknown";
}

}  // namespace paceline::protocol
