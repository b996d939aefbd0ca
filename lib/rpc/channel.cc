#include "lib/rpc/channel.h"

#include <algorithm>
#include <chrono>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "lib/base/limits.h"
#include "lib/rpc/library.h"
#include "lib/telemetry/log.h"

namespace paceline::rpc {
namespace {

using SystemTime = std::chrono::system_clock::time_point;  // As gRPC takes deadlines.

constexpr Duration kAttemptPeriod = std::chrono::seconds(2);
constexpr int kAttemptsPerWord = 5;

int Milliseconds(Duration duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

SystemTime After(Duration duration) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<SystemTime::duration>(duration);
}

// Why the channel does not connect: what a call meets that does not wait for it to be ready.
std::string WhyNot(grpc::Channel& channel) {
  grpc::ClientContext context;
  context.set_deadline(After(Seconds(1)));
  context.set_wait_for_ready(false);
  grpc::GenericStub stub(
      std::shared_ptr<grpc::ChannelInterface>(std::shared_ptr<void>(), &channel));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, "/paceline.v1.Coordinator/Nothing",
                                          grpc::ByteBuffer(), &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return "no answer";
  const std::string words = status.error_message();
  if (words.find("Socket closed") == std::string::npos) return words;
  return words +
         "; the peer hangs up on us, as it does where it refuses our certificate, or where one end "
         "alone uses TLS";
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options, ShardId rank) {
  KeepLibraryStarted();
  grpc::ChannelArguments arguments;
  // Otherwise all channels of a process to one address share one connection, and its one socket
  // buffer.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(limits::kAnswerBytesMax);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, limits::kMetadataBytesMax);
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   5000);  // Also the time that one attempt to connect may take.
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // A peer that was created anew has another address behind the same name.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_period));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // Any number.
  if (options.peer_names) arguments.SetSslTargetNameOverride(options.peer_names(rank));
  return grpc::CreateCustomChannel(
      address, options.credentials ? options.credentials : grpc::InsecureChannelCredentials(),
      arguments);
}

Status WaitForPeer(grpc::Channel& channel, const std::string& address, Duration timeout) {
  const SystemTime deadline = After(timeout);
  for (int attempt = 1;; ++attempt) {
    if (channel.WaitForConnected(std::min(deadline, After(kAttemptPeriod)))) return OkStatus();
    if (std::chrono::system_clock::now() >= deadline) break;
    // Otherwise a name that did not resolve is asked for ever more rarely.
    grpc::experimental::ChannelResetConnectionBackoff(&channel);
    if (attempt % kAttemptsPerWord == 0) {
      telemetry::Log(telemetry::LogLevel::kInfo, "waiting for a peer",
                     {{"address", address}, {"reason", WhyNot(channel)}});
    }
  }
  return Unavailable("cannot reach {} within {:.1f} s: {}", address, ToSeconds(timeout),
                     WhyNot(channel));
}

}  // namespace paceline::rpc
