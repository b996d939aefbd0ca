#include "operator/controller/status_writer.h"

#include <gtest/gtest.h>

namespace paceline::controller {
namespace {

job::JobStatus Training() {
  job::JobStatus status;
  status.replicas = 3;
  status.sync = job::SyncStatus{.scheme = job::Scheme::kDbw, .waiting_for = 2, .backup_workers = 1};
  status.progress.emplace().step = 30;
  return status;
}

TEST(NewsBetween, TellsNumbersThatComeByThemselvesFromWhatSomebodyWanted) {
  const job::JobStatus before = Training();
  EXPECT_EQ(NewsBetween(before, before), StatusNews::kNone);
  job::JobStatus step = before;
  step.progress->step = 31;
  EXPECT_EQ(NewsBetween(before, step), StatusNews::kProgress);
  job::JobStatus waiting = before;
  waiting.sync->waiting_for = 3;
  EXPECT_EQ(NewsBetween(before, waiting), StatusNews::kProgress);
  job::JobStatus scheme = before;
  scheme.sync->scheme = job::Scheme::kSsp;
  EXPECT_EQ(NewsBetween(before, scheme), StatusNews::kFacts);
  job::JobStatus scale = before;
  scale.replicas = 4;
  EXPECT_EQ(NewsBetween(before, scale), StatusNews::kFacts);
}

}  // namespace
}  // namespace paceline::controller
