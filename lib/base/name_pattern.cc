#include "lib/base/name_pattern.h"

#include <cstddef>

namespace paceline {

bool FitsPattern(std::string_view pattern, std::string_view name) {
  size_t at = 0, in_name = 0;
  size_t star = std::string_view::npos, taken = 0;  // The last *, and what it has taken up to.
  while (in_name < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = in_name;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[in_name])) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace paceline
