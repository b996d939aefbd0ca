// Defines Printable: foreign text as a terminal may show it.
#pragma once

#include <string>
#include <string_view>

namespace paceline {

// For what another process, a file or a server has said. Line feeds, tabs and the UTF-8 text of all
// languages stay. The rest is written out: control characters, the escape among them, and bytes of
// no UTF-8 text as \x1b, what turns the direction of writing or is a control character beyond ASCII
// as \u202e. What is printable stays as it is, so that twice is the same as once, but for a
// backslash, which is not told apart.
std::string Printable(std::string_view text);

}  // namespace paceline
