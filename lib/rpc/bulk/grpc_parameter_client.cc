#include "lib/rpc/bulk/grpc_parameter_client.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include "lib/rpc/bulk/answers.h"
#include "lib/rpc/bulk/retrying_parameter_client.h"
#include "lib/rpc/bulk/transfer_stream.h"
#include "lib/rpc/bulk/transfers.h"
#include "lib/telemetry/clock.h"

namespace paceline::rpc {
namespace {

using SystemTime = std::chrono::system_clock::time_point;  // As gRPC takes deadlines.

std::string Rank(size_t rank) { return fmt::format("shard {}", ShardId(rank)); }

template <class T>
std::span<T> Part(std::span<T> whole, const protocol::ShardAddress& shard) {
  return whole.subspan(shard.slice.begin_bytes, shard.slice.size_bytes());
}

constexpr Duration kAskPeriod = std::chrono::milliseconds(100);

SystemTime After(Duration duration) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<SystemTime::duration>(duration);
}

// Of the running ones, the rank of that which has not moved for the longest time.
std::optional<size_t> LongestSilent(const std::deque<TransferStream>& streams) {
  std::optional<size_t> found;
  for (size_t rank = 0; rank < streams.size(); ++rank) {
    if (streams[rank].outcome()) continue;
    if (!found || streams[rank].moved() < streams[*found].moved()) found = rank;
  }
  return found;
}

}  // namespace

struct GrpcParameterClient::Streams {
  grpc::CompletionQueue queue;
  std::deque<TransferStream> push;  // By rank; they do not move.
  std::deque<TransferStream> pull;

  // Hands on what has come about by then. False if nothing has.
  bool Next(SystemTime deadline) {
    void* tag = nullptr;
    bool ok = false;
    if (queue.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return false;
    const auto& completed = *static_cast<TransferStream::Tag*>(tag);
    completed.stream->Completed(completed.operation, ok, telemetry::SteadyNow());
    return true;
  }

  // Runs one transfer a shard until every stream has an outcome. The first failed one by rank,
  // annotated.
  template <class OneTransfer>
  Status Run(std::deque<TransferStream>& streams, std::deque<OneTransfer>& transfers,
             const GrpcParameterClientOptions& options) {
    for (size_t rank = 0; rank < streams.size(); ++rank)
      streams[rank].Begin(transfers[rank], telemetry::SteadyNow());
    std::optional<Status> given_up;
    while (const std::optional<size_t> rank = LongestSilent(streams)) {
      const Time idle_at = streams[*rank].moved() + options.idle_timeout;
      const Duration patience = options.is_cancelled ? kAskPeriod : options.idle_timeout;
      // What is cancelled completes at once.
      if (Next(given_up ? SystemTime::max()
                        : After(std::min(patience, idle_at - telemetry::SteadyNow()))))
        continue;
      if (options.is_cancelled && options.is_cancelled()) {
        given_up = Cancelled("nobody waits for this transfer any more");
      } else if (telemetry::SteadyNow() >= idle_at) {
        given_up = Annotate(
            DeadlineExceeded("no byte moved within {:g} s", ToSeconds(options.idle_timeout)),
            Rank(*rank));
      } else {
        continue;
      }
      for (TransferStream& stream : streams) stream.Cancel(*given_up);
    }
    if (given_up) return *given_up;
    for (size_t rank = 0; rank < streams.size(); ++rank) {
      PACELINE_RETURN_IF_ERROR(Annotate(*streams[rank].outcome(), Rank(rank)));
    }
    for (size_t rank = 0; rank < streams.size(); ++rank) {
      PACELINE_RETURN_IF_ERROR(Annotate(transfers[rank].status(), Rank(rank)));
    }
    return OkStatus();
  }

  ~Streams() {
    for (TransferStream& stream : push) stream.Close();
    for (TransferStream& stream : pull) stream.Close();
    queue.Shutdown();
    while (Next(SystemTime::max())) {
    }
  }
};

StatusOr<std::unique_ptr<GrpcParameterClient>> GrpcParameterClient::Create(
    GrpcParameterClientOptions options) {
  uint64_t end_bytes = 0;
  for (size_t rank = 0; rank < options.shards.size(); ++rank) {
    const protocol::ShardAddress& shard = options.shards[rank];
    if (shard.shard != ShardId(rank) || shard.slice.begin_bytes != end_bytes ||
        shard.slice.end_bytes < end_bytes) {
      return InvalidArgument(
          "slices do not follow each other: {} has [{}, {}), want rank {} from {}", shard.shard,
          shard.slice.begin_bytes, shard.slice.end_bytes, rank, end_bytes);
    }
    end_bytes = shard.slice.end_bytes;
  }
  if (options.shards.empty()) return InvalidArgument("there are no shards");
  if (options.chunk_bytes == 0) return InvalidArgument("chunk_bytes is 0, want at least 1");
  return std::unique_ptr<GrpcParameterClient>(new GrpcParameterClient(std::move(options)));
}

GrpcParameterClient::GrpcParameterClient(GrpcParameterClientOptions options)
    : options_(std::move(options)),
      total_bytes_(options_.shards.back().slice.end_bytes),
      streams_(std::make_unique<Streams>()) {
  // What a slow link still holds goes before a question to the peer, and before its answer.
  ChannelOptions patient = options_.channel;
  patient.keepalive_timeout = std::max(patient.keepalive_timeout, options_.idle_timeout);
  for (const protocol::ShardAddress& shard : options_.shards) {
    const std::shared_ptr<grpc::Channel> channel = MakeChannel(shard.address, patient, shard.shard);
    streams_->push.emplace_back(channel, "/paceline.v1.Shard/Push", streams_->queue);
    streams_->pull.emplace_back(channel, "/paceline.v1.Shard/Pull", streams_->queue);
  }
}

GrpcParameterClient::~GrpcParameterClient() = default;

Status GrpcParameterClient::Fill(WorkerId worker, Incarnation incarnation,
                                 std::span<const std::byte> payload,
                                 std::shared_ptr<const void> owner) {
  PACELINE_RETURN_IF_ERROR(CheckSize("initial values", payload.size(), total_bytes_));
  const ChunkHeader header{.kind = ChunkKind::kFill,
                           .transfer = ++transfers_,
                           .generation = options_.generation,
                           .worker = worker,
                           .incarnation = incarnation};
  std::deque<PushTransfer> transfers;
  for (const protocol::ShardAddress& shard : options_.shards) {
    transfers.emplace_back(header, Part(payload, shard), owner, options_.chunk_bytes);
  }
  return streams_->Run(streams_->push, transfers, options_);
}

StatusOr<PushReport> GrpcParameterClient::Push(const store::PushId& push,
                                               std::span<const std::byte> payload,
                                               std::shared_ptr<const void> owner) {
  PACELINE_RETURN_IF_ERROR(CheckSize("push", payload.size(), total_bytes_));
  const ChunkHeader header{.kind = ChunkKind::kPush,
                           .transfer = ++transfers_,
                           .generation = options_.generation,
                           .worker = push.worker,
                           .incarnation = push.incarnation,
                           .sequence = push.sequence};
  std::deque<PushTransfer> transfers;
  for (const protocol::ShardAddress& shard : options_.shards) {
    transfers.emplace_back(header, Part(payload, shard), owner, options_.chunk_bytes);
  }
  PACELINE_RETURN_IF_ERROR(streams_->Run(streams_->push, transfers, options_));
  PushReport report;
  for (const PushTransfer& transfer : transfers) {
    AddReceipt(transfer.receipt().block_squared_norms(), transfer.receipt().is_finite(), report);
  }
  return report;
}

StatusOr<PullReport> GrpcParameterClient::Pull(Version version, sync::Exactness exactness,
                                               std::span<std::byte> into) {
  PACELINE_RETURN_IF_ERROR(CheckSize("place to pull into", into.size(), total_bytes_));
  std::deque<PullTransfer> transfers;
  ++transfers_;
  for (const protocol::ShardAddress& shard : options_.shards) {
    transfers.emplace_back(transfers_, options_.generation, version, exactness, Part(into, shard));
  }
  PACELINE_RETURN_IF_ERROR(streams_->Run(streams_->pull, transfers, options_));
  PullReport report;
  for (size_t rank = 0; rank < transfers.size(); ++rank) {
    AddAnswer(rank == 0, transfers[rank].is_superseded(), transfers[rank].version(), report);
  }
  return report;
}

StatusOr<std::unique_ptr<ParameterClient>> OpenParameterClient(GrpcParameterClientOptions options,
                                                               RetryPolicy retries) {
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<GrpcParameterClient> client,
                            GrpcParameterClient::Create(std::move(options)));
  return std::make_unique<RetryingParameterClient>(std::move(client), retries);
}

}  // namespace paceline::rpc
