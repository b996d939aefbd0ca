// The names that paceline advise gives schemes, in the mouth of paceline compare.
#include <gtest/gtest.h>

#include "lib/compare/arm.h"
#include "lib/job/manifest/load.h"
#include "lib/job/policy_spec.h"
#include "simulator/advice/candidates.h"
#include "simulator/advice/testing.h"

namespace paceline {
namespace {

TEST(ArmNames, MeanTheSameToAdviseAndToCompare) {
  for (const char* const optimizer : {R"({"type": "SGD"})", R"({"type": "AdamW"})"}) {
    const std::string job = simulator::testing::JobOf(8, optimizer);
    for (const simulator::Candidate& one : simulator::CandidatesFor(job, 8).all) {
      const auto arms = compare::ParseArms(one.name);
      ASSERT_TRUE(arms.ok()) << arms.status();
      const job::Decoded compared = job::LoadJob(job, arms->front().overrides, job::Capabilities());
      ASSERT_TRUE(compared.errors.empty()) << ToString(compared.errors.front());
      EXPECT_EQ(job::PolicySpecFrom(compared.job), one.policy) << one.name;
    }
  }
}

}  // namespace
}  // namespace paceline
