// Defines CarryOut: the order in which every shell of a Coordinator carries out what it wants.
#pragma once

#include <utility>
#include <vector>

#include "lib/coordination/effect.h"

namespace paceline::coordination {

// Hands the effects to `carry` by value, one after the other, and leaves the list empty. What
// `carry` appends meanwhile, as the Step with a Decided does for an Observe, comes behind all that
// is there: effects are carried out in the order in which they were wanted.
template <class Carry>
void CarryOut(std::vector<Effect>& effects, Carry carry) {
  for (size_t next = 0; next < effects.size(); ++next) {
    Effect effect = std::move(effects[next]);  // The list may move.
    carry(std::move(effect));
  }
  effects.clear();
}

}  // namespace paceline::coordination
