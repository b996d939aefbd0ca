// paceline compare: runs a job once for each scheme and seed, and says which was faster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::commands {

struct CompareOptions {
  std::string manifest;
  std::vector<std::string> overrides;
  std::string schemes;  // Arms, as lib/compare/arm.h reads them.
  int64_t seeds = 1;
  std::string output = "text";  // Or "json", "csv".
  std::string plot;             // File of an SVG; empty: none.
  std::string runs_folder = "paceline-runs";
};

// One run after the other, all arms with one seed and then with the next, so that what else the
// machine does is shared among the arms. All arms are checked before the first one begins. The exit
// code: 0 all runs were done, 1 one of them failed, 2 bad manifest, arms or options, and nothing
// ran, 130 interrupted; what was measured until then is printed.
int Compare(const CompareOptions& options);

}  // namespace paceline::commands
