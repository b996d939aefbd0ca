#include "lib/rpc/bulk/in_process_parameter_client.h"

#include <cstring>
#include <utility>

#include "lib/rpc/bulk/answers.h"

namespace paceline::rpc {
namespace {

std::string Rank(size_t rank) { return fmt::format("shard {}", ShardId(rank)); }

void Copy(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

uint64_t TotalBytes(const std::vector<std::shared_ptr<store::Shard>>& shards) {
  return shards.empty() ? 0 : shards.back()->slice().end_bytes;
}

StatusOr<std::shared_ptr<const store::Receipt>> PushTo(store::Shard& shard,
                                                       const store::PushId& push,
                                                       std::span<const std::byte> part) {
  PACELINE_ASSIGN_OR_RETURN(const store::Staging staging, shard.Stage(push));
  if (staging.sealed) return staging.sealed;
  Copy(part, staging.bytes);
  return shard.Seal(push, staging.ticket);
}

}  // namespace

InProcessParameterClient::InProcessParameterClient(
    std::vector<std::shared_ptr<store::Shard>> shards)
    : shards_(std::move(shards)) {}

Status InProcessParameterClient::Fill(WorkerId, Incarnation, std::span<const std::byte> payload,
                                      std::shared_ptr<const void>) {
  PACELINE_RETURN_IF_ERROR(CheckSize("initial values", payload.size(), TotalBytes(shards_)));
  for (size_t rank = 0; rank < shards_.size(); ++rank) {
    const store::Slice slice = shards_[rank]->slice();
    const std::span<std::byte> into = shards_[rank]->initial_values();
    if (into.size() != slice.size_bytes()) {
      return Annotate(FailedPrecondition("initial values are published already"), Rank(rank));
    }
    Copy(payload.subspan(slice.begin_bytes, slice.size_bytes()), into);
  }
  return OkStatus();
}

StatusOr<PushReport> InProcessParameterClient::Push(const store::PushId& push,
                                                    std::span<const std::byte> payload,
                                                    std::shared_ptr<const void>) {
  PACELINE_RETURN_IF_ERROR(CheckSize("push", payload.size(), TotalBytes(shards_)));
  PushReport report;
  for (size_t rank = 0; rank < shards_.size(); ++rank) {
    const store::Slice slice = shards_[rank]->slice();
    const auto receipt =
        PushTo(*shards_[rank], push, payload.subspan(slice.begin_bytes, slice.size_bytes()));
    if (!receipt.ok()) return Annotate(receipt.status(), Rank(rank));
    AddReceipt((*receipt)->block_squared_norms, (*receipt)->is_finite, report);
  }
  return report;
}

StatusOr<PullReport> InProcessParameterClient::PullNamed(Version version, sync::Exactness exactness,
                                                         std::span<std::byte> into,
                                                         const OnNamed& on_named) {
  PACELINE_RETURN_IF_ERROR(CheckSize("place to pull into", into.size(), TotalBytes(shards_)));
  PullReport report;
  std::vector<std::shared_ptr<const store::Published>> named;
  for (size_t rank = 0; rank < shards_.size(); ++rank) {
    std::shared_ptr<const store::Published> found = shards_[rank]->Newest();
    if (found == nullptr || found->version < version) {
      return Annotate(Unavailable("version is not published yet: {}", version), Rank(rank));
    }
    if (exactness == sync::Exactness::kExact) {
      auto exact = shards_[rank]->Get(version);
      if (!exact.ok()) {
        AddAnswer(rank == 0, true, found->version, report);
        continue;
      }
      found = *std::move(exact);
    }
    AddAnswer(rank == 0, false, found->version, report);
    named.push_back(std::move(found));
  }
  if (report.is_superseded) return report;
  if (on_named) on_named();
  for (size_t rank = 0; rank < shards_.size(); ++rank) {
    const store::Slice slice = shards_[rank]->slice();
    Copy(named[rank]->bytes(), into.subspan(slice.begin_bytes, slice.size_bytes()));
  }
  return report;
}

}  // namespace paceline::rpc
