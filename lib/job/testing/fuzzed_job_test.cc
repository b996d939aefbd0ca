#include "lib/job/testing/fuzzed_job.h"

#include <set>

#include <gtest/gtest.h>

#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/load.h"

namespace paceline::job::testing {
namespace {

TEST(JobFuzzer, GivesTheSameJobsForTheSameSeed) {
  JobFuzzer a(7), b(7), c(8);
  bool differs = false;
  for (int i = 0; i < 50; ++i) {
    const nlohmann::json job = a.Next().object;
    EXPECT_EQ(job, b.Next().object);
    differs = differs || job["spec"] != c.Next().object["spec"];
  }
  EXPECT_TRUE(differs);
}

TEST(JobFuzzer, MakesGoodAndBadJobsOfManyKinds) {
  JobFuzzer fuzzer(1);
  int good = 0, bad = 0;
  std::set<std::string> messages;
  for (int i = 0; i < 2000; ++i) {
    const FuzzedJob job = fuzzer.Next();
    const Decoded loaded = LoadJob(job.object.dump(), {}, Capabilities::All());
    ++(loaded.errors.empty() ? good : bad);
    for (const FieldError& error : loaded.errors) messages.insert(error.path);
  }
  EXPECT_GT(good, 500);
  EXPECT_GT(bad, 500);
  EXPECT_GT(messages.size(), 100u);
}

}  // namespace
}  // namespace paceline::job::testing
