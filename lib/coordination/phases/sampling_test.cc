// Scripts with a sampler of their own: workers that draw alike, and those that do not.
#include "lib/coordination/phases/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using protocol::Drawn;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Job;
using testing::Model;
using testing::TwoWorkers;

constexpr const char* kSampler = "WeightedRandomSampler";

void Join(Job& job, uint64_t connection, uint64_t worker, const std::string& sampler) {
  protocol::Join join{protocol::Role::kWorker, WorkerId(worker), Model(), job.samples};
  join.sampler = sampler;
  job.Hear(connection, join);
}

// Two workers with that sampler, in training.
void Open(Job& job) {
  job.Register(0);
  Join(job, 1, 0, kSampler);
  Join(job, 2, 1, kSampler);
  job.Say(0, protocol::Configured{TwoWorkers().generation});
  job.Say(0, protocol::Filled{WorkerId(0), Incarnation(1)});
  job.Say(0, protocol::Opened{});
}

TEST(SamplingTest, WhoDrawsAlikeTrains) {
  Job job(TwoWorkers());
  Open(job);
  for (const uint64_t epoch : {0, 1, 0}) {
    for (const uint64_t connection : {1, 2}) job.Hear(connection, Drawn{epoch, 16, 7 + epoch});
  }
  EXPECT_FALSE(job.Has<Finished>());
  EXPECT_FALSE(job.WasClosed(1));
}

TEST(SamplingTest, AnotherDigestOfAnEpochEndsTheJobAndNamesTheSampler) {
  Job job(TwoWorkers());
  Open(job);
  job.Hear(1, Drawn{0, 16, 7});
  job.Hear(2, Drawn{1, 16, 8});  // Of another epoch: there is nothing to compare it with.
  EXPECT_FALSE(job.Has<Finished>());
  job.Hear(2, Drawn{0, 16, 8});
  ASSERT_TRUE(job.Has<Finished>());
  EXPECT_FALSE(job.Last<Finished>().is_success);
  EXPECT_THAT(job.Last<Finished>().reason,
              AllOf(HasSubstr(kSampler), HasSubstr("for epoch 0 w0 drew 16 positions, and w1")));
}

TEST(SamplingTest, WhoJoinsLaterIsComparedWithWhoHasLeft) {
  Job job(TwoWorkers());
  Open(job);
  job.Hear(1, Drawn{0, 16, 7});
  job.Step(WorkerGone{ConnectionId(1)});
  Join(job, 3, 0, kSampler);
  job.Hear(3, Drawn{0, 16, 8});
  EXPECT_TRUE(job.Has<Finished>());
}

TEST(SamplingTest, TwoSamplersAreRefused) {
  for (const std::string other : {"", "SubsetRandomSampler"}) {
    Job job(TwoWorkers());
    job.Register(0);
    Join(job, 1, 0, kSampler);
    Join(job, 2, 1, other);
    EXPECT_EQ(job.Sent<protocol::Refused>(2).reason, protocol::RefuseReason::kDataDiffers);
    EXPECT_THAT(job.Sent<protocol::Refused>(2).detail,
                HasSubstr("want the sampler " + std::string(kSampler)));
  }
  Job job(TwoWorkers());
  job.Register(0);
  Join(job, 1, 0, "");  // As workers say that know of none.
  Join(job, 2, 1, kSampler);
  EXPECT_THAT(job.Sent<protocol::Refused>(2).detail, HasSubstr("want no sampler"));
}

TEST(SamplingTest, AnEvaluatorHasNone) {
  Job job(TwoWorkers());
  Open(job);
  job.JoinEvaluator(3);
  EXPECT_TRUE(job.WasSent<protocol::Admitted>(3));
}

}  // namespace
}  // namespace paceline::coordination
