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

// One way to, or from, all shards.
struct GrpcParameterClient::Streams {
  grpc::CompletionQueue queue;
  std::deque<TransferStream> by_rank;  // They do not move.
  uint64_t transfers = 0;              // Begun.

  // Hands on what has come about by then. False if nothing has.
  bool Next(SystemTime deadline) {
    void* tag = nullptr;
    bool ok = false;
    if (queue.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return false;
    const auto& completed = *static_cast<TransferStream::Tag*>(tag);
    completed.stream->Completed(completed.operation, ok, telemetry::SteadyNow());
    return true;
  }

  // Runs one transfer a shard until every stream has an outcome, and says after each message that
  // one passed. The first failed one by rank, annotated.
  template <class OneTransfer, class OnMoved>
  Status Run(std::deque<OneTransfer>& moving, const GrpcParameterClientOptions& options,
             OnMoved on_moved) {
    for (size_t rank = 0; rank < by_rank.size(); ++rank)
      by_rank[rank].Begin(moving[rank], telemetry::SteadyNow());
    std::optional<Status> given_up;
    while (const std::optional<size_t> rank = LongestSilent(by_rank)) {
      const Time idle_at = by_rank[*rank].moved() + options.idle_timeout;
      const Duration patience = options.is_cancelled ? kAskPeriod : options.idle_timeout;
      // What is cancelled completes at once.
      if (Next(given_up ? SystemTime::max()
                        : After(std::min(patience, idle_at - telemetry::SteadyNow())))) {
        on_moved();
        continue;
      }
      if (options.is_cancelled && options.is_cancelled()) {
        given_up = Cancelled("nobody waits for this transfer any more");
      } else if (telemetry::SteadyNow() >= idle_at) {
        given_up = Annotate(
            DeadlineExceeded("no byte moved within {:g} s", ToSeconds(options.idle_timeout)),
            Rank(*rank));
      } else {
        continue;
      }
      for (TransferStream& stream : by_rank) stream.Cancel(*given_up);
    }
    if (given_up) return *given_up;
    for (size_t rank = 0; rank < by_rank.size(); ++rank) {
      PACELINE_RETURN_IF_ERROR(Annotate(*by_rank[rank].outcome(), Rank(rank)));
    }
    for (size_t rank = 0; rank < by_rank.size(); ++rank) {
      PACELINE_RETURN_IF_ERROR(Annotate(moving[rank].status(), Rank(rank)));
    }
    return OkStatus();
  }

  ~Streams() {
    for (TransferStream& stream : by_rank) stream.Close();
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
      pushes_(std::make_unique<Streams>()),
      pulls_(std::make_unique<Streams>()) {
  // What a slow link still holds goes before a question to the peer, and before its answer.
  ChannelOptions patient = options_.channel;
  patient.keepalive_timeout = std::max(patient.keepalive_timeout, options_.idle_timeout);
  for (const protocol::ShardAddress& shard : options_.shards) {
    const std::shared_ptr<grpc::Channel> channel = MakeChannel(shard.address, patient, shard.shard);
    pushes_->by_rank.emplace_back(channel, "/paceline.v1.Shard/Push", pushes_->queue);
    pulls_->by_rank.emplace_back(channel, "/paceline.v1.Shard/Pull", pulls_->queue);
  }
}

GrpcParameterClient::~GrpcParameterClient() = default;

Status GrpcParameterClient::Fill(WorkerId worker, Incarnation incarnation,
                                 std::span<const std::byte> payload,
                                 std::shared_ptr<const void> owner) {
  PACELINE_RETURN_IF_ERROR(CheckSize("initial values", payload.size(), total_bytes_));
  const ChunkHeader header{.kind = ChunkKind::kFill,
                           .transfer = ++pushes_->transfers,
                           .generation = options_.generation,
                           .worker = worker,
                           .incarnation = incarnation};
  std::deque<PushTransfer> transfers;
  for (const protocol::ShardAddress& shard : options_.shards) {
    transfers.emplace_back(header, Part(payload, shard), owner, options_.chunk_bytes);
  }
  return pushes_->Run(transfers, options_, [] {});
}

StatusOr<PushReport> GrpcParameterClient::Push(const store::PushId& push,
                                               std::span<const std::byte> payload,
                                               std::shared_ptr<const void> owner) {
  PACELINE_RETURN_IF_ERROR(CheckSize("push", payload.size(), total_bytes_));
  const ChunkHeader header{.kind = ChunkKind::kPush,
                           .transfer = ++pushes_->transfers,
                           .generation = options_.generation,
                           .worker = push.worker,
                           .incarnation = push.incarnation,
                           .sequence = push.sequence};
  std::deque<PushTransfer> transfers;
  for (const protocol::ShardAddress& shard : options_.shards) {
    transfers.emplace_back(header, Part(payload, shard), owner, options_.chunk_bytes);
  }
  PACELINE_RETURN_IF_ERROR(pushes_->Run(transfers, options_, [] {}));
  PushReport report;
  for (const PushTransfer& transfer : transfers) {
    AddReceipt(transfer.receipt().block_squared_norms(), transfer.receipt().is_finite(), report);
  }
  return report;
}

StatusOr<PullReport> GrpcParameterClient::PullNamed(Version version, sync::Exactness exactness,
                                                    std::span<std::byte> into,
                                                    const OnNamed& on_named) {
  PACELINE_RETURN_IF_ERROR(CheckSize("place to pull into", into.size(), total_bytes_));
  std::deque<PullTransfer> transfers;
  ++pulls_->transfers;
  for (const protocol::ShardAddress& shard : options_.shards) {
    transfers.emplace_back(pulls_->transfers, options_.generation, version, exactness,
                           Part(into, shard));
  }
  bool is_to_name = on_named != nullptr;
  const auto moved = [&] {
    if (!is_to_name || !std::ranges::all_of(transfers, &PullTransfer::is_named)) return;
    is_to_name = false;
    on_named();
  };
  PACELINE_RETURN_IF_ERROR(pulls_->Run(transfers, options_, moved));
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
