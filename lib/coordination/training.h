// Defines what workers' words and the policy's decisions do while training runs.
#pragma once

#include "lib/coordination/state.h"

namespace paceline::coordination {

void OnPushDone(Turn turn, ConnectionId connection, const protocol::PushDone& done);
void OnAbandoned(Turn turn, ConnectionId connection, const protocol::Abandoned& abandoned);

// Carries the policy's decisions out, in order. One that names what is no more is ignored.
void Carry(Turn turn, const std::vector<sync::Decision>& decisions);

// Sends the worker samples and its assignment; false if there are none to be leased.
bool Send(Turn turn, const sync::Release& release);

}  // namespace paceline::coordination
