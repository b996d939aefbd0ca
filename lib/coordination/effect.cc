#include "lib/coordination/effect.h"

namespace paceline::coordination {

Effect::Effect() = default;
Effect::Effect(const Effect& other) = default;
Effect::Effect(Effect&& other) noexcept = default;
Effect& Effect::operator=(const Effect& other) = default;
Effect& Effect::operator=(Effect&& other) noexcept = default;
Effect::~Effect() = default;

}  // namespace paceline::coordination
