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

StatusOr<PullReport> RetryingParameterClient::Pull(Version version, sync::Exactness exactness,
                                                   std::span<std::byte> into) {
  return Retry(policy_, sleep_, [&] { return client_->Pull(version, exactness, into); });
}

}  // namespace paceline::rpc
