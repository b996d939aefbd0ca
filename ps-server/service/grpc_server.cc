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

// All but where it listens.
void Configure(const GrpcServerOptions& options, grpc::ServerBuilder& builder) {
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
  for (grpc::Service* service : options.services) builder.RegisterService(service);
}

}  // namespace

StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerOptions& options) {
  rpc::KeepLibraryStarted();
  grpc::ServerBuilder builder;
  Configure(options, builder);
  const std::shared_ptr<grpc::ServerCredentials> credentials =
      options.credentials ? options.credentials : grpc::InsecureServerCredentials();
  std::string address = options.address;
  std::unique_ptr<BoundedListener> listener;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
  if (address.starts_with(kUnixPrefix)) {
    PACELINE_RETURN_IF_ERROR(ProbeUnixAddress(address));
    builder.AddListeningPort(address, credentials);
  } else {
    PACELINE_ASSIGN_OR_RETURN(const HostPort split, SplitHostPort(address));
    PACELINE_ASSIGN_OR_RETURN(
        listener, BoundedListener::Listen(split.host, split.port,
                                          {.unacknowledged_longest = options.keepalive_timeout}));
    address = WithPort(address, listener->port());
    using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    acceptor = builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD, credentials);
  }
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr)
    return Unavailable("cannot listen on {}: gRPC gives no reason", options.address);
  if (listener != nullptr) listener->LetIn(std::move(acceptor));
  return std::unique_ptr<GrpcServer>(
      new GrpcServer(std::move(server), std::move(listener), std::move(address)));
}

GrpcServer::GrpcServer(std::unique_ptr<grpc::Server> server,
                       std::unique_ptr<BoundedListener> listener, std::string address)
    : server_(std::move(server)), listener_(std::move(listener)), address_(std::move(address)) {}

GrpcServer::~GrpcServer() { Stop(Duration::zero()); }

void GrpcServer::Stop(Duration patience) {
  if (server_ == nullptr) return;
  if (listener_ != nullptr) listener_->Close();
  server_->Shutdown(std::chrono::system_clock::now() + patience);
  server_->Wait();
  server_.reset();
}

}  // namespace paceline::ps
