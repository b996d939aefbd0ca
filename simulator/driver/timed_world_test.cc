// Local steps in the simulator and in the private world of lib/sync's tests, on random lives: both
// make the same rounds at the same times, of the same pushes and steps.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/sync/testing/wbsp_timed_world.h"
#include "simulator/driver/testing.h"
#include "simulator/kernel/random_stream.h"

namespace paceline::simulator {
namespace {

using namespace testing;

struct Rounds {
  std::vector<double> ends;   // In seconds.
  std::vector<size_t> steps;  // Local ones, of the pushes in each.
  std::vector<size_t> pushes;
};

constexpr size_t kRounds = 60;

Rounds OfTimedWorld(const ClusterOptions& options, const std::vector<double>& speeds) {
  std::vector<sync::testing::Pace> paces;
  const double travels = options.network.latency_seconds;
  for (const double speed : speeds) paces.push_back({1 / speed, travels, travels});
  sync::testing::TimedWorld world(options.policy, paces);
  world.Run(kRounds);
  Rounds rounds;
  double end = 0;
  for (const auto& round : world.rounds()) {
    rounds.ends.push_back(end += round.seconds);
    rounds.pushes.push_back(round.weights.size());
    size_t steps = 0;
    for (const auto& [worker, made] : round.steps) steps += made;
    rounds.steps.push_back(steps);
  }
  return rounds;
}

Rounds OfSimulator(ClusterOptions options) {
  Rounds rounds;
  size_t steps = 0, pushed = 0;  // In the open round; in the newest push.
  options.trace = [&](std::string_view line) {
    if (line.find(" push w") != std::string_view::npos) {
      const size_t at = line.find(" steps=");
      pushed = at == std::string_view::npos ? 1 : std::stoul(std::string(line.substr(at + 7)));
    } else if (line.starts_with("  accumulate")) {
      steps += pushed;
    } else if (line.starts_with("  commit")) {
      rounds.steps.push_back(std::exchange(steps, 0));
    }
  };
  options.steps_max = kRounds;
  for (const VersionFacts& version : Lived(options).versions) {
    rounds.ends.push_back(version.at_seconds);
    rounds.pushes.push_back(version.pushes);
  }
  return rounds;
}

bool operator==(const Rounds& a, const Rounds& b) {
  for (size_t i = 0; i < kRounds; ++i) {
    if (std::abs(a.ends[i] - b.ends[i]) > 1e-5) return false;
  }
  return a.steps == b.steps && a.pushes == b.pushes;
}

// What happens at the same time happens in the order in which it was begun, in both.
TEST(TimedWorld, AndTheSimulatorMakeTheSameRounds) {
  const std::vector<std::string> policies = {"WBSP",
                                             "WBSP basic",
                                             "WBSP trigger=designated late-push=drop",
                                             "WBSP basic local-steps=3",
                                             "WBSP normalised",
                                             "BackupWorkers backup=1 meanwhile=local-steps"};
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const std::string& policy = policies[seed % policies.size()];
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ' ' << policy);
    RandomStream chance(seed, "timed-world");
    std::vector<double> speeds;
    for (uint64_t left = 2 + chance.Next() % 6; left > 0; --left)
      speeds.push_back(0.25 + 1.75 * chance.Uniform());
    ClusterOptions options = Of(policy, speeds);
    options.learning_rate = 1e-3;
    options.network.latency_seconds = 0.01 + 1.5 * chance.Uniform() * chance.Uniform();
    const Rounds timed = OfTimedWorld(options, speeds), simulated = OfSimulator(options);
    ASSERT_EQ(timed.ends.size(), kRounds);
    ASSERT_EQ(simulated.ends.size(), kRounds);
    EXPECT_TRUE(timed == simulated);
  }
}

}  // namespace
}  // namespace paceline::simulator
