// Defines RetryingParameterClient: a ParameterClient that repeats what failed for a passing reason.
#pragma once

#include <memory>

#include "lib/rpc/bulk/parameter_client.h"
#include "lib/rpc/retry.h"

namespace paceline::rpc {

// Repeats whole calls with the same identity: a shard that has the push already answers from what
// it has.
class RetryingParameterClient final : public ParameterClient {
 public:
  RetryingParameterClient(std::unique_ptr<ParameterClient> client, RetryPolicy policy,
                          Sleeper sleep = ThreadSleeper());

  Status Fill(WorkerId worker, Incarnation incarnation, std::span<const std::byte> payload,
              std::shared_ptr<const void> owner) override;
  StatusOr<PushReport> Push(const store::PushId& push, std::span<const std::byte> payload,
                            std::shared_ptr<const void> owner) override;
  StatusOr<PushReport> PushExactly(const store::PushId& push, std::span<const std::byte> payload,
                                   std::shared_ptr<const void> owner) override;
  // Of what is begun, Seal is repeated where it may be.
  std::unique_ptr<BegunPush> BeginPush(const store::PushId& push) override;
  StatusOr<PullReport> PullNamed(Version version, sync::Exactness exactness,
                                 std::span<std::byte> into, const OnNamed& on_named) override;
  StatusOr<std::optional<PullReport>> Hold(Version version, sync::Exactness exactness,
                                           const OnHeld& on_held) override;

 private:
  const std::unique_ptr<ParameterClient> client_;
  const RetryPolicy policy_;
  const Sleeper sleep_;
};

}  // namespace paceline::rpc
