#include <optional>
#include <vector>

#include "lib/rpc/bulk/allocator.h"
#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/policy_factory.h"
#include "lib/telemetry/metrics.h"
#include "ps-server/coordinator/driver.h"
#include "ps-server/coordinator/own_shard.h"
#include "ps-server/service/coordinator_service.h"
#include "ps-server/service/grpc_server.h"
#include "ps-server/service/shard_service.h"
#include "tests/bench/control_processes.h"
#include "tests/bench/measuring_sessions.h"

namespace paceline::bench {
namespace {

constexpr uint32_t kSamplesPerWorker = 16;

// As the server runs it.
std::unique_ptr<sync::Policy> MakeCheckedBsp(uint32_t workers, Version first, const std::string&) {
  const sync::PolicySpec spec{.scheme = sync::Scheme::kBsp,
                              .global_batch_size = workers * kSamplesPerWorker,
                              .workers_expected = workers,
                              .first_version = first};
  return std::make_unique<sync::CheckedPolicy>(
      sync::MakePolicy(spec).value(), spec,
      [](const std::string& violation) { Fail(violation.c_str()); });
}

ps::DriverOptions OptionsFor(const ControlSetup& setup) {
  coordination::CoordinatorOptions coordination;
  coordination.shards = kControlShards;
  coordination.workers_wanted = setup.workers;
  coordination.workers_min = setup.workers;
  coordination.workers_max = setup.workers;
  coordination.global_batch_size = setup.workers * kSamplesPerWorker;
  coordination.steps_max = setup.steps;
  coordination.schedule.global_batch = coordination.global_batch_size;
  return {.coordination = coordination,
          .optimizer = optim::SgdOptions{.momentum = 0.9},
          .fetch = [](const Generation&, const auto&, Version) { return std::vector<std::byte>(); },
          .save = [](const auto&, const auto&, const auto&) { return OkStatus(); },
          .make_policy = MakeCheckedBsp};
}

}  // namespace

void RunControlCoordinator(const ControlSetup& setup, Line& line) {
  rpc::TuneAllocator();
  telemetry::Metrics metrics;
  ps::DriverMetrics driver_metrics(&metrics);
  StepRecorder recorder(setup.workers);
  ps::Driver driver(OptionsFor(setup), &driver_metrics);
  MeasuringSessions sessions(driver, recorder);
  ps::ShardHost host([&sessions](const protocol::ShardMessage& message) {
    sessions.ShardSaid(ShardId(0), message);
  });
  ps::CoordinatorService coordinator_service(sessions);
  ps::ShardService shard_service(host);
  const auto server = ps::GrpcServer::Start({.address = setup.Address("coordinator"),
                                             .services = {&coordinator_service, &shard_service}});
  if (!server.ok()) Fail(Message(server.status()).c_str());
  (void)sessions.ShardConnected({ShardId(0), (*server)->address()},
                                std::make_shared<ps::OwnShard>(&host));
  std::optional<coordination::Finished> finished;
  while (!finished) finished = driver.WaitFinished(Seconds(1));
  if (!finished->is_success) Fail(finished->reason.c_str());
  const std::vector<StepTimes> steps = recorder.Steps();
  line.Send(StepCount{steps.size()});
  for (const StepTimes& step : steps) line.Send(step);
  (*server)->Stop(Seconds(2));
}

}  // namespace paceline::bench
