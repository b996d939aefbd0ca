#include "simulator/report/timeline.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "simulator/driver/cluster.h"

namespace paceline::simulator {
namespace {

using nlohmann::json;

TEST(Timeline, IsOfTheTraceEventFormat) {
  std::ostringstream out;
  {
    Timeline timeline(out, 1);
    timeline.Add({.what = Occurrence::What::kPush,
                  .worker = 0,
                  .from = Time(Duration(1'500)),
                  .to = Time(Duration(4'000'001))});
    timeline.Add({.what = Occurrence::What::kPublished,
                  .from = Time(Seconds(2)),
                  .to = Time(Seconds(2)),
                  .version = Version(7),
                  .pushes = 3});
  }
  const json events = json::parse(out.str())["traceEvents"];
  ASSERT_EQ(events.size(), 2 + 4 + 2u);
  EXPECT_EQ(events[2]["args"]["name"], "worker 0");
  EXPECT_EQ(events[6],
            json::parse(R"({"ph":"X","name":"push","pid":2,"tid":3,"ts":1.5,"dur":3998.501})"));
  EXPECT_EQ(events[7], json::parse(R"({"ph":"i","s":"t","name":"v7","pid":1,"tid":1,"ts":2000000.0,
                                       "args":{"pushes":3}})"));
}

// Of a life with late workers that are interrupted, and one whose late pushes are dropped: rows
// hold one thing at a time, and their sums are those that the life itself counts.
TEST(Timeline, HoldsAllOfALife) {
  for (const char* policy : {"BackupWorkers backup=1 late-worker=interrupt",
                             "BackupWorkers backup=1", "WBSP", "PSPlus"}) {
    SCOPED_TRACE(policy);
    ClusterOptions options;
    options.policy = *sync::ParsePolicySpec(policy);
    options.policy.global_batch_size = 30;
    for (const double speed : {1.0, 0.9, 0.3})
      options.workers.push_back({.per_sample_seconds = 0.1, .speed = speed});
    options.network = {.latency_seconds = 0.05, .server_bytes_per_second = 1e3, .bytes = 20};
    options.steps_max = 20;
    double computed = 0;
    uint64_t gave_up = 0, dropped = 0, published = 0;
    std::map<std::pair<uint32_t, Occurrence::What>, Time> ends;
    options.watch = [&](const Occurrence& one) {
      ASSERT_LE(one.from, one.to);
      if (one.what == Occurrence::What::kCompute) computed += ToSeconds(one.to - one.from);
      gave_up += one.what == Occurrence::What::kGaveUp;
      if (one.what == Occurrence::What::kDropped) dropped += one.pushes;
      published += one.what == Occurrence::What::kPublished;
      if (one.what > Occurrence::What::kPush) return;
      Time& end = ends[{one.worker, one.what}];
      EXPECT_LE(end, one.from);
      end = one.to;
    };
    const StatusOr<Life> life = Simulate(options);
    ASSERT_TRUE(life.ok()) << life.status();
    EXPECT_NEAR(computed, life->compute_seconds, 1e-6);
    EXPECT_GT(computed, 0);
    EXPECT_EQ(gave_up, life->interrupted);
    EXPECT_EQ(dropped, life->dropped);
    EXPECT_EQ(published, life->versions.size());
    // Each worker's rows have something; who is always interrupted pushes nothing.
    EXPECT_EQ(ends.size(), life->interrupted > 0 ? 3 * 3 - 1 : 3 * 3u);
  }
}

}  // namespace
}  // namespace paceline::simulator
