// Joins the worker's loop to gRPC.
#pragma once

#include <string>

#include "worker/loop/session.h"

namespace paceline::worker {

// Sessions with the coordinator at `address`, and parameter clients with retries.
Connector GrpcConnector(const std::string& address);

}  // namespace paceline::worker
