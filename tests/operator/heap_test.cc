// Which heap the operator has: nothing in its sources asks for it, so a linker could drop it
// unseen.

#include <cstdio>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/places.h"

namespace paceline::operator_test {
namespace {

using ::testing::ContainsRegex;

// What a shell prints, both streams.
std::string Printed(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>&1").c_str(), "r"), pclose);
  std::string text;
  char part[4096];
  while (pipe != nullptr && std::fgets(part, sizeof part, pipe.get()) != nullptr) text += part;
  return text;
}

TEST(OperatorHeap, IsJemallocAsItIsSetUp) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers bring a heap of their own";
#endif
  const std::string printed =
      Printed("MALLOC_CONF=stats_print:true " + InBuild("bin/paceline-operator --help"));
  EXPECT_THAT(printed, ContainsRegex("opt.narenas: 1[^0-9]"));
  EXPECT_THAT(printed, ContainsRegex("opt.dirty_decay_ms: 200[^0-9]"));
}

}  // namespace
}  // namespace paceline::operator_test
