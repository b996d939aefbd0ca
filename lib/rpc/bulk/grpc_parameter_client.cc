#include "lib/rpc/bulk/grpc_parameter_client.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include <grpcpp/channel.h>

#include "lib/rpc/bulk/answers.h"
#include "lib/rpc/bulk/grpc_begun_push.h"
#include "lib/rpc/bulk/retrying_parameter_client.h"
#include "lib/rpc/bulk/shard_streams.h"
#include "lib/rpc/bulk/transfers.h"

namespace paceline::rpc {
namespace {

template <class T>
std::span<T> Part(std::span<T> whole, const protocol::ShardAddress& shard) {
  return whole.subspan(shard.slice.begin_bytes, shard.slice.size_bytes());
}

// The smallest number of which RoundToBfloat16 makes an infinite one: half a step above the
// largest.
constexpr float kInfiniteRounded = 0x1.ffp127f;

// As ShardStreams takes them.
template <class OneTransfer>
std::vector<Transfer*> Pointers(std::deque<OneTransfer>& transfers) {
  std::vector<Transfer*> pointers;
  for (OneTransfer& transfer : transfers) pointers.push_back(&transfer);
  return pointers;
}

}  // namespace

// As it has arrived: what rounding makes infinite is none any more.
std::optional<uint64_t> GrpcParameterClient::FirstNonFinite(std::span<const std::byte> payload,
                                                            WireType type) const {
  const auto floats = store::View<float>(payload, 0, options_.parts.floats_end);
  const uint64_t rounded = RoundedEnd(type) / sizeof(float);
  for (uint64_t i = 0; i < floats.size(); ++i) {
    if (!std::isfinite(floats[i]) || (i < rounded && std::abs(floats[i]) >= kInfiniteRounded))
      return i * sizeof(float);
  }
  return std::nullopt;
}

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
  if (options.bucket_bytes == 0) return InvalidArgument("bucket_bytes is 0, want at least 1");
  return std::unique_ptr<GrpcParameterClient>(new GrpcParameterClient(std::move(options)));
}

GrpcParameterClient::GrpcParameterClient(GrpcParameterClientOptions options)
    : options_(std::move(options)), total_bytes_(options_.shards.back().slice.end_bytes) {
  // What a slow link still holds goes before a question to the peer, and before its answer.
  ChannelOptions patient = options_.channel;
  patient.keepalive_timeout = std::max(patient.keepalive_timeout, options_.idle_timeout);
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (const protocol::ShardAddress& shard : options_.shards)
    channels.push_back(MakeChannel(shard.address, patient, shard.shard));
  pushes_ = std::make_unique<ShardStreams>(channels, "/paceline.v1.Shard/Push");
  pulls_ = std::make_unique<ShardStreams>(channels, "/paceline.v1.Shard/Pull");
}

GrpcParameterClient::~GrpcParameterClient() = default;

Status GrpcParameterClient::Fill(WorkerId worker, Incarnation incarnation,
                                 std::span<const std::byte> payload,
                                 std::shared_ptr<const void> owner) {
  PACELINE_RETURN_IF_ERROR(CheckSize("initial values", payload.size(), total_bytes_));
  const ChunkHeader header{.kind = ChunkKind::kFill,
                           .transfer = pushes_->NextTransfer(),
                           .generation = options_.generation,
                           .worker = worker,
                           .incarnation = incarnation};
  std::deque<PushTransfer> transfers;
  for (const protocol::ShardAddress& shard : options_.shards) {
    transfers.emplace_back(header, Part(payload, shard), owner, options_.chunk_bytes);
  }
  return pushes_->Run(Pointers(transfers), patience());
}

StatusOr<PushReport> GrpcParameterClient::Push(const store::PushId& push,
                                               std::span<const std::byte> payload,
                                               std::shared_ptr<const void> owner) {
  return PushAs(options_.types.gradients, push, payload, std::move(owner));
}

StatusOr<PushReport> GrpcParameterClient::PushExactly(const store::PushId& push,
                                                      std::span<const std::byte> payload,
                                                      std::shared_ptr<const void> owner) {
  return PushAs(WireType::kFloat32, push, payload, std::move(owner));
}

StatusOr<PushReport> GrpcParameterClient::PushAs(WireType type, const store::PushId& push,
                                                 std::span<const std::byte> payload,
                                                 std::shared_ptr<const void> owner) {
  PACELINE_RETURN_IF_ERROR(CheckSize("push", payload.size(), total_bytes_));
  const ChunkHeader header{.kind = ChunkKind::kPush,
                           .transfer = pushes_->NextTransfer(),
                           .generation = options_.generation,
                           .worker = push.worker,
                           .incarnation = push.incarnation,
                           .sequence = push.sequence};
  std::deque<PushTransfer> transfers;
  for (const protocol::ShardAddress& shard : options_.shards) {
    transfers.emplace_back(header, Part(payload, shard), owner, options_.chunk_bytes,
                           RoundedPart(RoundedEnd(type), shard.slice));
  }
  PACELINE_RETURN_IF_ERROR(pushes_->Run(Pointers(transfers), patience()));
  PushReport report;
  if (type != WireType::kFloat32) report.wire_bytes = WireBytes(type);
  for (const PushTransfer& transfer : transfers) {
    AddReceipt(transfer.receipt().block_squared_norms(), transfer.receipt().is_finite(), report);
  }
  if (!report.is_finite) report.non_finite_at = FirstNonFinite(payload, type);
  return report;
}

std::unique_ptr<BegunPush> GrpcParameterClient::BeginPush(const store::PushId& push) {
  if (total_bytes_ <= options_.bucket_bytes) return nullptr;
  // gRPC may still hold what a push that failed has handed to it.
  if (memory_ == nullptr || memory_.use_count() > 1)
    memory_ = std::make_shared_for_overwrite<std::byte[]>(total_bytes_);
  GrpcBegunPush::Options begun{.streams = pushes_.get(),
                               .slices = {},
                               .parts = options_.parts,
                               .header = {.kind = ChunkKind::kPush,
                                          .generation = options_.generation,
                                          .worker = push.worker,
                                          .incarnation = push.incarnation,
                                          .sequence = push.sequence},
                               .patience = patience(),
                               .chunk_bytes = options_.chunk_bytes,
                               .bucket_bytes = options_.bucket_bytes,
                               .rounded_end = RoundedEnd(options_.types.gradients)};
  for (const protocol::ShardAddress& shard : options_.shards) begun.slices.push_back(shard.slice);
  return std::make_unique<GrpcBegunPush>(std::move(begun), memory_);
}

StatusOr<PullReport> GrpcParameterClient::PullNamed(Version version, sync::Exactness exactness,
                                                    std::span<std::byte> into,
                                                    const OnNamed& on_named) {
  PACELINE_RETURN_IF_ERROR(CheckSize("place to pull into", into.size(), total_bytes_));
  std::deque<PullTransfer> transfers;
  const uint64_t transfer = pulls_->NextTransfer();
  for (const protocol::ShardAddress& shard : options_.shards) {
    transfers.emplace_back(transfer, options_.generation, version, exactness, Part(into, shard),
                           RoundedPart(RoundedEnd(options_.types.parameters), shard.slice),
                           options_.pulls_average);
  }
  bool is_to_name = on_named != nullptr;
  const auto moved = [&] {
    if (!is_to_name || !std::ranges::all_of(transfers, &PullTransfer::is_named)) return;
    is_to_name = false;
    on_named();
  };
  PACELINE_RETURN_IF_ERROR(pulls_->Run(Pointers(transfers), patience(), moved));
  PullReport report;
  if (options_.types.parameters != WireType::kFloat32)
    report.wire_bytes = WireBytes(options_.types.parameters);
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
