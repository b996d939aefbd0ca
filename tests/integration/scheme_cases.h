// A test that each of some schemes has to pass, and the schemes for those about workers that come
// and go.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/integration/live_run.h"

namespace paceline::integration {

struct SchemeCase {
  std::string name;
  std::vector<std::string> overrides;  // Of the spec, behind those of the test.
  friend void PrintTo(const SchemeCase& one, std::ostream* out) { *out << one.name; }
};

std::vector<SchemeCase> SchemeCases();

class EverySchemeTest : public ::testing::TestWithParam<SchemeCase> {
 protected:
  // DigitsManifest with `overrides`, and then the scheme's.
  LiveRun Start(std::vector<std::string> overrides) const;
  LiveRun StartSample(std::vector<std::string> overrides) const;  // Likewise, as it lies there.

 private:
  LiveRun StartJob(const std::string& manifest_path, std::vector<std::string> overrides) const;

  TestFolder folder_;
};

}  // namespace paceline::integration
