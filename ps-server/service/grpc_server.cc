#include "ps-server/service/grpc_server.h"

#include <chrono>
#include <utility>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "lib/base/limits.h"
#include "lib/rpc/library.h"
#include "ps-server/service/listen_probe.h"

namespace paceline::ps {
namespace {

int Milliseconds(Duration duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace

StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerOptions& options) {
  PACELINE_RETURN_IF_ERROR(ProbeAddress(options.address));
  rpc::KeepLibraryStarted();
  grpc::ServerBuilder builder;
  // Two servers on one port would each get some of the workers.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_period));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             Milliseconds(options.keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // Any number.
  // Clients ask as often as this server does; their pings are no attack.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Milliseconds(options.keepalive_period / 4));
  // What strangers can make this server hold. A message that unpacks to a thousand times its size
  // is refused, whatever its own size: gradients gain nothing from compression.
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, limits::kMetadataBytesMax);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits::kStreamsPerConnectionMax);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             Milliseconds(Seconds(limits::kHandshakeSecondsMax)));
  builder.SetMaxReceiveMessageSize(limits::kMessageBytesMax);
  builder.SetMaxSendMessageSize(-1);
  builder.SetDefaultCompressionAlgorithm(GRPC_COMPRESS_NONE);
  for (const grpc_compression_algorithm packed : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP})
    builder.SetCompressionAlgorithmSupportStatus(packed, false);
  int port = -1;
  builder.AddListeningPort(
      options.address,
      options.credentials ? options.credentials : grpc::InsecureServerCredentials(), &port);
  for (grpc::Service* service : options.services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port <= 0)
    return Unavailable("cannot listen on {}: gRPC gives no reason", options.address);
  return std::unique_ptr<GrpcServer>(
      new GrpcServer(std::move(server), WithPort(options.address, port)));
}

GrpcServer::GrpcServer(std::unique_ptr<grpc::Server> server, std::string address)
    : server_(std::move(server)), address_(std::move(address)) {}

GrpcServer::~GrpcServer() { Stop(Duration::zero()); }

void GrpcServer::Stop(Duration patience) {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + patience);
  server_->Wait();
  server_.reset();
}

}  // namespace paceline::ps
