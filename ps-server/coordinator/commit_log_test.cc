#include "ps-server/coordinator/commit_log.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline::ps {
namespace {

class CommitLogTest : public ::testing::Test {
 protected:
  CommitLogTest() { close(mkstemp(path_.data())); }
  ~CommitLogTest() override { std::remove(path_.c_str()); }

  static coordination::Effect Commit(uint64_t shard, uint64_t version) {
    protocol::CommitAll commit;
    commit.pushes = {{{WorkerId(0), Incarnation(2), Sequence(5)}, 16},
                     {{WorkerId(2), Incarnation(1), Sequence(9)}, 16}};
    commit.commit.version = Version(version);
    return coordination::SendShard{ShardId(shard), commit};
  }
  std::string Text() const {
    std::stringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

  std::string path_ = ::testing::TempDir() + "/commit-log-XXXXXX";
};

TEST_F(CommitLogTest, TellsOfGenerationsVersionsAndCheckpoints) {
  {
    const auto log = *CommitLog::Open(path_);
    log->Note(coordination::ConfigureShards{{}, {1, 0}, {}});
    log->Note(Commit(1, 1));  // Another shard's copy of the order.
    log->Note(Commit(0, 1));
    log->Note(coordination::VersionPublished{.version = Version(1)});
    log->Note(coordination::SendShard{ShardId(0), protocol::StopShard{}});
    coordination::Checkpoint checkpoint;
    checkpoint.name = "000001-1-0-1";
    checkpoint.generation = {1, 0};
    checkpoint.state.version = Version(1);
    log->Note(coordination::ConfigureShards{{}, {1, 1}, {}});
    log->Note(coordination::CompleteCheckpoint{checkpoint, {}});
  }
  const auto another_life = *CommitLog::Open(path_);
  another_life->Note(coordination::ConfigureShards{
      {}, {2, 0}, coordination::ConfigureShards::From{"000001-1-0-1", Version(1), {}}});
  EXPECT_EQ(Text(),
            "configured start=1 counter=0 version=0 from=-\n"
            "commit start=1 counter=0 version=1 pushes=0:2:5,2:1:9\n"
            "published start=1 counter=0 version=1\n"
            "configured start=1 counter=1 version=0 from=-\n"
            "checkpoint start=1 counter=0 version=1 name=000001-1-0-1\n"
            "configured start=2 counter=0 version=1 from=000001-1-0-1\n");
}

}  // namespace
}  // namespace paceline::ps
