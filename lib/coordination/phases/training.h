// Defines what workers' words and the policy's decisions do while training runs.
#pragma once

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

void OnPushDone(Turn turn, ConnectionId connection, const protocol::PushDone& done);
void OnAbandoned(Turn turn, ConnectionId connection, const protocol::Abandoned& abandoned);

// Carries the policy's decisions out, in order. One that names what is no more is ignored.
void Carry(Turn turn, const std::vector<sync::Decision>& decisions);

// Sends the worker samples and its assignment; false if there are none to be leased. An eager
// worker that has a step to push is sent the version even so.
bool Send(Turn turn, const sync::Release& release);

// Training ends with the version that commits the last samples; if those are left out instead, no
// version follows: ends it now.
void FinishIfAllElseIsLeftOut(Turn turn);

// Whether it was last sent on to pull eagerly: it sends a push once the one before is answered.
bool IsEager(const JobState& job, WorkerId worker);
// The release without samples.
void Answer(Turn turn, const Session& session, const sync::Release& release);

}  // namespace paceline::coordination
