// Finds what somebody may have meant who wrote a name that is not known.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::job {

// The name nearest to `word` by insertions, deletions, replacements and swaps, case apart; empty if
// none is near enough to be meant.
std::string_view NearestName(std::string_view word, std::span<const std::string_view> names);

// Paths of all fields under spec whose last part is `name`, case apart: where a misplaced field
// belongs.
std::vector<std::string> PathsEndingIn(std::string_view name);

}  // namespace paceline::job
