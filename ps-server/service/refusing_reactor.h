// Defines Refuse: the answer to a stream that is not to be.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "lib/rpc/grpc_status.h"

namespace paceline::ps {

// Ends the stream with `why` before anything is read; owns itself until gRPC is done with it.
template <class In, class Out>
grpc::ServerBidiReactor<In, Out>* Refuse(const Status& why) {
  class Refusing final : public grpc::ServerBidiReactor<In, Out> {
   public:
    explicit Refusing(const Status& why) { this->Finish(rpc::ToGrpcStatus(why)); }
    void OnDone() override { delete this; }
  };
  return new Refusing(why);
}

}  // namespace paceline::ps
