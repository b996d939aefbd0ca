// Defines GrpcServer: services on one address, from Start to Stop.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(auto server, GrpcServer::Start({.address = "127.0.0.1:0", .services =
//   {&shard_service}})); fmt::print("{}\n", server->address());  // 127.0.0.1:43121
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "ps-server/service/bounded_listener.h"

namespace grpc {
class Server;
class ServerCredentials;
class Service;
}  // namespace grpc

namespace paceline::ps {

struct GrpcServerOptions {
  std::string address;                   // unix:/path or host:port; port 0 takes a free one.
  std::vector<grpc::Service*> services;  // Must outlive the server.
  std::shared_ptr<grpc::ServerCredentials> credentials =
      nullptr;                               // Null: neither encrypted nor authenticated.
  Duration keepalive_period = Seconds(20);   // A silent peer is asked this often...
  Duration keepalive_timeout = Seconds(20);  // ...and given up after this.
};

class GrpcServer {
 public:
  // Unavailable, "cannot listen on ADDRESS: ...", if the address is in use or cannot be had;
  // InvalidArgument if it is no address.
  static StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcServerOptions& options);
  ~GrpcServer();  // Stops at once.

  const std::string& address() const {
    return address_;
  }  // As a client names it, with the port that was taken.

  // Refuses new streams, waits for the running ones at most `patience`, then cancels them. Blocks.
  // Again: nothing.
  void Stop(Duration patience);

 private:
  GrpcServer(std::unique_ptr<grpc::Server> server, std::unique_ptr<BoundedListener> listener,
             std::string address);

  std::unique_ptr<grpc::Server> server_;
  const std::unique_ptr<BoundedListener> listener_;  // Null: a Unix socket, on which gRPC listens.
  const std::string address_;
};

}  // namespace paceline::ps
