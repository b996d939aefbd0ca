#include "lib/job/manifest/composition.h"

#include <gtest/gtest.h>

#include "lib/job/policy_spec.h"

namespace paceline::job {
namespace {

TEST(Composition, NamesTheSchemeAndWhatIsChangedAboutIt) {
  Sync sync;
  EXPECT_EQ(CompositionOf(sync), "BSP");
  sync.scheme = Scheme::kKAsync;
  sync.quorum = QuorumField{.word = {}, .workers = 3};
  sync.modulation.emplace();
  EXPECT_EQ(CompositionOf(sync), "KAsync(3)+Staleness");
  sync = Sync{.scheme = Scheme::kBsp,
              .quorum = QuorumField{.word = QuorumWord::kDbw},
              .reach = 2,
              .late = Late::kDrop,
              .meanwhile = Meanwhile::kEagerPull};
  sync.batch_sizing.strategy = BatchStrategy::kNarx;
  EXPECT_EQ(CompositionOf(sync), "BSP+DBW+reach=2+Drop+EagerPull+NARX");
  sync = Sync{.scheme = Scheme::kWbsp,
              .staleness = 4,
              .late_worker = LateWorker::kInterrupt,
              .update_scale = UpdateScale::kFull,
              .outer = Outer{}};
  EXPECT_EQ(CompositionOf(sync), "WBSP+staleness=4+Interrupt+Full+outer");
}

TEST(PolicySpec, DbwsTimesAreEachItsOwn) {
  TrainingJob job;
  job.spec.sync.scheme = Scheme::kDbw;
  job.spec.sync.dbw.silence_seconds = 30;
  job.spec.sync.dbw.ada_sync_seconds = 7;
  const sync::PolicySpec spec = PolicySpecFrom(job);
  EXPECT_EQ(spec.dbw.silence_seconds, 30);
  EXPECT_EQ(spec.dbw.ada_sync_seconds, 7);
}

}  // namespace
}  // namespace paceline::job
