// Defines InProcessParameterClient: a ParameterClient straight to shards of this process, without a
// network.
#pragma once

#include <memory>
#include <vector>

#include "lib/rpc/bulk/parameter_client.h"

namespace paceline::rpc {

// For the reference run and as the floor of benchmarks. Fill writes initial_values(); the shards'
// owner opens them.
class InProcessParameterClient : public ParameterClient {
 public:
  explicit InProcessParameterClient(
      std::vector<std::shared_ptr<store::Shard>> shards);  // All, in rank order.

  Status Fill(WorkerId worker, Incarnation incarnation, std::span<const std::byte> payload,
              std::shared_ptr<const void> owner) override;
  StatusOr<PushReport> Push(const store::PushId& push, std::span<const std::byte> payload,
                            std::shared_ptr<const void> owner) override;
  StatusOr<PullReport> PullNamed(Version version, sync::Exactness exactness,
                                 std::span<std::byte> into, const OnNamed& on_named) override;

 private:
  const std::vector<std::shared_ptr<store::Shard>> shards_;
};

}  // namespace paceline::rpc
