#include "lib/rpc/bulk/retrying_parameter_client.h"

#include <utility>

namespace paceline::rpc {

RetryingParameterClient::RetryingParameterClient(std::unique_ptr<ParameterClient> client,
                                                 RetryPolicy policy, Sleeper sleep)
    : client_(std::move(client)), policy_(policy), sleep_(std::move(sleep)) {}

Status RetryingParameterClient::Fill(WorkerId worker, Incarnation incarnation,
                                     std::span<const std::byte> payload,
                                     std::shared_ptr<const void> owner) {
  return Retry(policy_, sleep_, [&] { return client_->Fill(worker, incarnation, payload, owner); });
}

StatusOr<PushReport> RetryingParameterClient::Push(const store::PushId& push,
                                                   std::span<const std::byte> payload,
                                                   std::shared_ptr<const void> owner) {
  return Retry(policy_, sleep_, [&] { return client_->Push(push, payload, owner); });
}

StatusOr<PullReport> RetryingParameterClient::PullNamed(Version version, sync::Exactness exactness,
                                                        std::span<std::byte> into,
                                                        const OnNamed& on_named) {
  bool is_named = false;
  const OnNamed named = [&] {
    is_named = true;
    on_named();
  };
  Status broken;  // After the naming: final.
  StatusOr<PullReport> report = Retry(policy_, sleep_, [&]() -> StatusOr<PullReport> {
    StatusOr<PullReport> tried =
        client_->PullNamed(version, exactness, into, on_named ? named : nullptr);
    if (tried.ok() || !is_named) return tried;
    broken = tried.status();
    return PullReport{};
  });
  if (!broken.ok()) return broken;
  return report;
}

StatusOr<std::optional<HeldVersion>> RetryingParameterClient::Hold(Version version,
                                                                   sync::Exactness exactness) {
  return Retry(policy_, sleep_, [&] { return client_->Hold(version, exactness); });
}

}  // namespace paceline::rpc
