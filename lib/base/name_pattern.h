// Defines FitsPattern: names by pattern, of parameters and of files.
#pragma once

#include <string_view>

namespace paceline {

// Whether `name` is what `pattern` says: * is any characters or none, ? is one, all others are
// themselves. Takes at most as many steps as the product of their lengths.
bool FitsPattern(std::string_view pattern, std::string_view name);

}  // namespace paceline
