// Joins the worker's loop to gRPC.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/time.h"
#include "lib/base/wire_type.h"
#include "lib/rpc/channel.h"
#include "lib/worker/loop/session.h"

namespace paceline::worker {

// One attempt to reach the coordinator; the loop asks again until its own patience is over.
inline constexpr Duration kAttemptTimeout = std::chrono::seconds(12);

struct ConnectionOptions {
  std::string coordinator;                               // Its address.
  Duration connect_timeout = std::chrono::seconds(600);  // Until there is work.
  rpc::ChannelOptions channel;                           // To it, and to the shards.
  Duration transfer_idle = std::chrono::seconds(60);     // Of a transfer, without a byte.
  uint64_t bucket_bytes = 4 << 20;  // Of gradients, gathered while they are computed.
  WireTypes types;                  // Of gradients and parameters, where they travel.
  bool pulls_average = false;       // An evaluator's, of a job that keeps one.
  int threads = 1;                  // That share what is copied, where memory is shared.
  // Whether memory is shared with shards that are on this machine and offer it.
  bool shares_memory = true;
};

// Sessions with the coordinator, and parameter clients with retries.
Connector GrpcConnector(const ConnectionOptions& options);

}  // namespace paceline::worker
