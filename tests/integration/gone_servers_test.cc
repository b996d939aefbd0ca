// Workers whose parameter servers are gone for good, or stand still for good: none waits for ever,
// and each says why it ends.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/tcp_job.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// A job whose worker has trained for a step and has two seconds' patience; it goes on for long.
class GoneServersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    job_.StartPs(0);
    job_.StartPs(1);
    job_.StartWorker(0, {"--connect-timeout-seconds", "2"});
    const Json trains = job_.WaitFor([](const Json& now) { return now["step"] >= 1; });
    ASSERT_FALSE(trains.is_null()) << job_.LogOf("worker-0");
  }

  void ExpectWorkerToEndWithTheReason() {
    EXPECT_EQ(job_.WaitExit("worker-0"), 1);
    EXPECT_THAT(job_.LogOf("worker-0"),
                HasSubstr("gave up after 2 s without work: coordinator cannot be reached: "));
  }

  const TestFolder folder_;
  TcpJob job_{
      folder_,
      {.manifest = DigitsManifest(),
       .overrides = Paced(0.001, {"spec.parameterServer.shards=2", "spec.workers.replicas=1",
                                  "spec.training.stop={maxEpochs: 100000}"})}};
};

TEST_F(GoneServersTest, DeadOnesEndAWorkerWithTheReason) {
  for (const char* const server : {"ps-0", "ps-1"}) job_.Signal(server, SIGKILL);
  ExpectWorkerToEndWithTheReason();
}

// Its connections stay open, and the kernel takes what is sent.
TEST_F(GoneServersTest, AFrozenCoordinatorEndsAWorkerWithTheReason) {
  job_.Signal("ps-0", SIGSTOP);
  ExpectWorkerToEndWithTheReason();
}

}  // namespace
}  // namespace paceline::integration
