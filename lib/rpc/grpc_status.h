// Defines ToStatus and ToGrpcStatus: the border between our Status and gRPC's; the sixteen codes
// are the same.
#pragma once

#include <string>

#include <grpcpp/support/status.h>

#include "lib/base/status.h"

namespace paceline::rpc {

inline Status ToStatus(const grpc::Status& status) {
  return MakeStatus(static_cast<StatusCode>(status.error_code()), status.error_message());
}

inline grpc::Status ToGrpcStatus(const Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), Message(status)};
}

}  // namespace paceline::rpc
