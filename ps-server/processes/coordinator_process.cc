#include <memory>
#include <optional>
#include <utility>

#include "lib/job/policy_spec.h"
#include "lib/process/termination.h"
#include "lib/telemetry/access_token.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/metrics.h"
#include "ps-server/checkpoints.h"
#include "ps-server/coordinator/driver.h"
#include "ps-server/coordinator/own_shard.h"
#include "ps-server/job_tls.h"
#include "ps-server/live_job.h"
#include "ps-server/model/frozen_file.h"
#include "ps-server/model/served_model.h"
#include "ps-server/processes/coordinator_end.h"
#include "ps-server/processes/coordinator_files.h"
#include "ps-server/processes/coordinator_serving.h"
#include "ps-server/processes/driver_options.h"
#include "ps-server/processes/processes.h"
#include "ps-server/processes/sharing.h"
#include "ps-server/shard/shard_host.h"

namespace paceline::ps {
namespace {

constexpr Duration kLookPeriod = std::chrono::seconds(1);

coordination::Finished WaitFinished(Driver& driver, ShardHost& host) {
  while (true) {
    if (auto finished = driver.WaitFinished(kLookPeriod)) return *std::move(finished);
    // Its word of how it gets on; and the driver, which turns for it, is seen to turn.
    driver.ShardSaid(ShardId(0), host.Heartbeat());
  }
}

}  // namespace

Status RunCoordinator(const Options& options, const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(const JobTls tls, LoadJobTls(options.tls_folder, job, options.rank));
  LiveJob live(job, job::PolicySpecFrom(job));
  PACELINE_ASSIGN_OR_RETURN(CoordinatorFiles files, OpenCoordinatorFiles(options, job));
  ServedModel model(options.output, telemetry::AccessToken(options.token_file));
  FrozenFile frozen({.model = options.output,
                     .checkpoints = CheckpointsOf(options, job),
                     .now = telemetry::SteadyNow});
  telemetry::Metrics metrics;
  DriverMetrics driver_metrics(&metrics);
  Driver driver(DriverOptionsFrom({options, job, tls, files, live, model, frozen, driver_metrics}),
                &driver_metrics);
  ShardMetrics shard_metrics(&metrics);
  ShardHost host(
      [&driver](protocol::ShardMessage message) {
        driver.ShardSaid(ShardId(0), std::move(message));
      },
      &shard_metrics, SlicePlaceFrom(options, job), MemoryFrom(options, job));
  PACELINE_ASSIGN_OR_RETURN(
      const std::unique_ptr<CoordinatorServing> serving,
      CoordinatorServing::Start({options, job, tls, metrics, live, model, driver, host, frozen}));
  (void)driver.ShardConnected({ShardId(0), serving->address()}, std::make_shared<OwnShard>(&host));
  const process::TerminationSignals signals([&] {
    driver.AskToStop("asked to stop", coordination::StopKind::kSuspend);
    model.StopServing();
  });

  const coordination::Finished finished = WaitFinished(driver, host);
  JobView view = ViewOf(live, model, tls.server != nullptr);
  WriteSummary(options, driver.progress(), view, finished);
  // Those that nobody asked for go when nothing writes them any more.
  if (finished.is_success && !options.has_default_checkpoints) CloseCheckpoints(options, job);
  if (options.serves_model && view.model && !finished.is_suspended) {
    serving->StopSessions();
    ServeUntilFetched(model);
    view = ViewOf(live, model, tls.server != nullptr);
  }
  SayFinalState(options, driver.progress(), view, finished);
  serving->Stop();
  driver.Stop();  // The own shard goes first.
  files.run = {};
  files.model.RemoveFile();
  const Status status = StatusOf(finished);
  if (status.ok() && options.has_default_checkpoints) CloseCheckpoints(options, job);
  return status;
}

}  // namespace paceline::ps
