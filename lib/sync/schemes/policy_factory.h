// Defines MakePolicy: from a PolicySpec to the state machine that it names.
#pragma once

#include <memory>
#include <string>

#include "lib/base/status.h"
#include "lib/sync/contract/policy.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::sync {

// `saved` is what Policy::Save of the same scheme gave, or empty.
//
// InvalidArgument if a knob is out of range, DataLoss if `saved` is not of this scheme.
StatusOr<std::unique_ptr<Policy>> MakePolicy(const PolicySpec& spec, const std::string& saved = "");

// Of what a policy of another spec saved, what one of `spec` takes: of the quorum, if it is of that
// kind, and of the speeds of workers, if it sizes batches by them. Empty: nothing.
std::string WhatFits(const PolicySpec& spec, const std::string& saved);

// Whether a policy that was made of `from` becomes one of `to` by being told Reconfigured, without
// stopping anybody: workers go on after a push as they did. Otherwise another policy has to be
// made.
bool MayReconfigure(const PolicySpec& from, const PolicySpec& to);

}  // namespace paceline::sync
