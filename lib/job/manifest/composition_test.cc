#include "lib/job/manifest/composition.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace paceline::job
