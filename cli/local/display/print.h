// Defines Print: how the command line writes for people. What others have said is in most of its
// text: no part of it may steer the terminal.
#pragma once

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "lib/base/printable.h"

namespace paceline::local {

template <class... T>
void Print(std::FILE* to, fmt::format_string<T...> text, T&&... arguments) {
  fmt::print(to, "{}", Printable(fmt::format(text, std::forward<T>(arguments)...)));
}

}  // namespace paceline::local
