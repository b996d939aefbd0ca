// Defines CoordinatorServing: all that a coordinator's process is asked through, from Start to
// Stop.
#pragma once

#include <memory>
#include <string>

#include "lib/base/status.h"
#include "lib/job/manifest/training_job.h"
#include "lib/telemetry/metrics.h"
#include "ps-server/coordinator/driver.h"
#include "ps-server/endpoints.h"
#include "ps-server/job_tls.h"
#include "ps-server/live_job.h"
#include "ps-server/model/frozen_file.h"
#include "ps-server/model/served_model.h"
#include "ps-server/options.h"
#include "ps-server/service/coordinator_service.h"
#include "ps-server/service/grpc_server.h"
#include "ps-server/service/memory_service.h"
#include "ps-server/service/shard_service.h"
#include "ps-server/shard/shard_host.h"

namespace paceline::ps {

// One owner. The sessions of workers and shards, the own shard's transfers, and HTTP.
class CoordinatorServing {
 public:
  struct Asked {
    const Options& options;
    const job::TrainingJob& job;
    const JobTls& tls;
    const telemetry::Metrics& metrics;
    LiveJob& live;
    ServedModel& model;
    Driver& driver;
    ShardHost& host;
    FrozenFile& frozen;
  };

  // All of `asked` outlives it. Errors of GrpcServer::Start, AdvertisedAddress and
  // Endpoints::Start; InvalidArgument if an HTTP port that was named is taken: it stays so.
  static StatusOr<std::unique_ptr<CoordinatorServing>> Start(const Asked& asked);

  const std::string& address() const { return address_; }  // That others are told.

  void StopSessions();  // Nobody trains any more. Blocks for some seconds at most.
  void Stop();          // All of it.

 private:
  explicit CoordinatorServing(const Asked& asked);

  CoordinatorService coordinator_;
  ShardService shard_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<MemoryService> memory_;  // Null: no memory is shared.
  std::string address_;
  Endpoints endpoints_;
};

}  // namespace paceline::ps
