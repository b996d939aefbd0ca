// Defines EndRules: whether a pod that ended has failed or was disrupted.
#pragma once

#include <span>
#include <string_view>

#include "operator/objects/metadata.h"

namespace paceline::controller {

// kFailure counts against backoffLimit, kDisruption does not: somebody else took the machine away.
// kUnfit: that machine cannot do the work, as a program of ours says with kExitCannotWorkHere.
enum class EndKind { kWell, kFailure, kDisruption, kUnfit };

struct EndRule {
  std::string_view name;
  std::string_view when;  // As docs/conditions.md has it; a test compares the two.
  EndKind kind;
  // Of a pod's status, and of how its container ended (null: it never began).
  bool (*holds)(const Json& status, const Json& terminated);
};

// The first that holds decides; the last one always does. Sources: the kubelet's reasons for
// admission and eviction (pkg/kubelet/lifecycle, pkg/kubelet/eviction of Kubernetes 1.26 to 1.34)
// and the pod condition DisruptionTarget.
std::span<const EndRule> EndRules();

const EndRule& HowItEnded(const Json& status, const Json& terminated);

}  // namespace paceline::controller
