// Every scheme, for tests that each of them has to pass.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/integration/live_run.h"

namespace paceline::integration {

struct SchemeCase {
  std::string name;
  std::vector<std::string> overrides;  // Of the spec, behind those of the test.
  friend void PrintTo(const SchemeCase& one, std::ostream* out) { *out << one.name; }
};

std::vector<SchemeCase> SchemeCases();

// DigitsManifest with `overrides`, and then the scheme's.
LiveRun StartScheme(const TestFolder& folder, const SchemeCase& scheme,
                    std::vector<std::string> overrides);

}  // namespace paceline::integration
