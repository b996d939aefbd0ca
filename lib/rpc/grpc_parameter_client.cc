#include "lib/rpc/grpc_parameter_client.h"

#include <chrono>
#include <deque>
#include <utility>

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include "lib/rpc/answers.h"
#include "lib/rpc/retrying_parameter_client.h"
#include "lib/rpc/transfer_stream.h"
#include "lib/rpc/transfers.h"

namespace paceline::rpc {
namespace {

using SystemTime = std::chrono::system_clock::time_point;  // As gRPC takes deadlines.

std::string Rank(size_t rank) { return fmt::format("shard {}", ShardId(rank)); }

template <class T>
std::span<T> Part(std::span<T> whole, const protocol::ShardAddress& shard) {
  return whole.subspan(shard.slice.begin_bytes, shard.slice.size_bytes());
}

bool IsRunning(const std::deque<TransferStream>& streams) {
  for (const TransferStream& stream : streams) {
    if (!stream.outcome()) return true;
  }
  return false;
}

}  // namespace

struct GrpcParameterClient::Streams {
  grpc::CompletionQueue queue;
  std::deque<TransferStream> push;  // By rank; they do not move.
  std::deque<TransferStream> pull;

  // Runs one transfer a shard until every stream has an outcome. The first failed one by rank,
  // annotated.
  template <class OneTransfer>
  Status Run(std::deque<TransferStream>& streams, std::deque<OneTransfer>& transfers,
             Duration timeout) {
    SystemTime deadline = std::chrono::system_clock::now() +
                          std::chrono::duration_cast<SystemTime::duration>(timeout);
    for (size_t rank = 0; rank < streams.size(); ++rank) streams[rank].Begin(transfers[rank]);
    while (IsRunning(streams)) {
      void* tag = nullptr;
      bool ok = false;
      if (queue.AsyncNext(&tag, &ok, deadline) == grpc::CompletionQueue::GOT_EVENT) {
        const auto& completed = *static_cast<TransferStream::Tag*>(tag);
        completed.stream->Completed(completed.operation, ok);
        continue;
      }
      deadline = SystemTime::max();  // What is cancelled completes at once.
      for (TransferStream& stream : streams) {
        stream.Cancel(DeadlineExceeded("no answer within {:.1f} s", ToSeconds(timeout)));
      }
    }
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
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
      const auto& completed = *static_cast<TransferStream::Tag*>(tag);
      completed.stream->Completed(completed.operation, ok);
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
  for (const protocol::ShardAddress& shard : options_.shards) {
    const std::shared_ptr<grpc::Channel> channel =
        MakeChannel(shard.address, options_.channel, shard.shard);
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
  return streams_->Run(streams_->push, transfers, options_.timeout);
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
  PACELINE_RETURN_IF_ERROR(streams_->Run(streams_->push, transfers, options_.timeout));
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
  PACELINE_RETURN_IF_ERROR(streams_->Run(streams_->pull, transfers, options_.timeout));
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
