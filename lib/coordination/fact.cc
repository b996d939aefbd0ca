#include "lib/coordination/fact.h"

namespace paceline::coordination {

Fact::Fact() = default;
Fact::Fact(const Fact& other) = default;
Fact::Fact(Fact&& other) noexcept = default;
Fact& Fact::operator=(const Fact& other) = default;
Fact& Fact::operator=(Fact&& other) noexcept = default;
Fact::~Fact() = default;

}  // namespace paceline::coordination
