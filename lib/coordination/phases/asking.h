// Defines how the policy is asked: one event at a time, each answered before the next is told.
//
// A policy decides on what it was told. If two members were lost at once, and both were taken out
// before it heard of the first, its answer could still count the second one's push. So what follows
// an open question waits in line, losses themselves included.
#pragma once

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

// Emits Observe, now or when the policy has answered.
void Ask(Turn turn, sync::Event event);

// The member is lost, now or when the policy has answered: see Remove in joining.h.
void Lose(Turn turn, Loss loss);

// The policy has answered; what waited goes on until the next question.
void GoOnAsking(Turn turn);

// The connection broke the protocol: said so, closed, lost. Not banned: a new life of it may do
// better.
void Expel(Turn turn, ConnectionId connection, std::string reason);

}  // namespace paceline::coordination
