// Defines how changed knobs and parts are taken over on the run.
#pragma once

#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

// As MayReconfigure allows. Settle follows: it closes the open round if that waits for nobody any
// more, and releases whom the new spec admits.
//
// What was learnt is kept: a quorum or a sizer that is no more leaves it to the next one that can
// use it. A quorum that learns takes over when the next round begins, since it has to see all of
// one. A push that was under way counts if it would have before.
void OnReconfigured(Turn turn, const PolicySpec& spec);

// The quorum that takes over when a round begins, if there is one.
void TakeQuorumIfDue(EngineState& state);

}  // namespace paceline::sync
