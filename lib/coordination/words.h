// Defines the words for coordination's enums, as logs, metrics and GET /v1/job use them.
#pragma once

#include <string_view>

#include "lib/coordination/coordinator.h"
#include "lib/coordination/effect.h"

namespace paceline::coordination {

constexpr std::string_view ToString(Phase phase) {
  switch (phase) {
    case Phase::kStartup:
      return "startup";
    case Phase::kTraining:
      return "training";
    case Phase::kFinishing:
      return "finishing";
    case Phase::kOver:
      return "over";
  }
  return "unknown";
}

constexpr std::string_view ToString(protocol::Doing doing) {
  switch (doing) {
    case protocol::Doing::kComputing:
      return "computing";
    case protocol::Doing::kInScript:
      return "in its script";
    case protocol::Doing::kDelayed:
      return "delayed";
    case protocol::Doing::kTransferring:
      return "transferring";
    case protocol::Doing::kWaiting:
      return "waiting";
  }
  return "unknown";
}

constexpr std::string_view ToString(WorkerEventKind kind) {
  switch (kind) {
    case WorkerEventKind::kJoined:
      return "joined";
    case WorkerEventKind::kLeft:
      return "left";
    case WorkerEventKind::kSilent:
      return "silent";
    case WorkerEventKind::kRefused:
      return "refused";
    case WorkerEventKind::kExpelled:
      return "expelled";
    case WorkerEventKind::kHung:
      return "hung";
    case WorkerEventKind::kNonFinite:
      return "non-finite";
  }
  return "unknown";
}

}  // namespace paceline::coordination
