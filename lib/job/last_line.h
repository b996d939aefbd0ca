// Defines LastLine: what a program that is not ours, and leaves no last word, is taken to have
// said.
#pragma once

#include <string>
#include <string_view>

namespace paceline::job {

// The last line of its output that is not blank, which in a traceback has the exception; empty if
// there is none.
std::string LastLine(std::string_view output);

}  // namespace paceline::job
