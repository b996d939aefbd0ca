// Defines Overloaded: one visitor of lambdas for std::visit.
//
// Example:
//   std::visit(Overloaded{[](const Fill&) { ... }, [](const auto&) { ... }}, order);
#pragma once

namespace paceline {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace paceline
