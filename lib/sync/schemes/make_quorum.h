// Defines MakeQuorum: the quorum that a spec asks for, with what an earlier one of its kind had
// learnt.
#pragma once

#include <memory>
#include <string>

#include "lib/base/status.h"
#include "lib/sync/schemes/policy_spec.h"
#include "lib/sync/schemes/quorum.h"

namespace paceline::sync {

// Whether the quorums of both would be alike, knobs included.
bool IsSameQuorum(const PolicySpec& a, const PolicySpec& b);

// Whether it says k by what it has seen.
bool DoesQuorumLearn(const PolicySpec& spec);

// DataLoss if `saved` is not what such a quorum saved.
StatusOr<std::unique_ptr<Quorum>> MakeQuorum(const PolicySpec& spec, const std::string& saved);

}  // namespace paceline::sync
