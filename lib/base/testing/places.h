// Where the checkout and the build lie that a test or a benchmark was compiled from and in. Only
// places.cc is compiled with them, so that ccache finds in one clone what another compiled.

#pragma once

#include <string>
#include <string_view>

namespace paceline {

// The path of `path` in the checkout; the checkout's own path where it is empty. Absolute, and
// never with a slash too many at its end.
std::string InSource(std::string_view path = "");

// The same of the build's folder: InBuild("bin/paceline").
std::string InBuild(std::string_view path = "");

}  // namespace paceline
