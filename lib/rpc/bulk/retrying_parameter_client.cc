#include "lib/rpc/bulk/retrying_parameter_client.h"

#include <utility>

namespace paceline::rpc {
namespace {

class RetryingBegunPush final : public BegunPush {
 public:
  RetryingBegunPush(std::unique_ptr<BegunPush> push, const RetryPolicy& policy,
                    const Sleeper& sleep)
      : push_(std::move(push)), policy_(policy), sleep_(sleep) {}

  void Put(uint64_t offset_bytes, std::span<const std::byte> part) override {
    push_->Put(offset_bytes, part);
  }
  StatusOr<PushReport> Seal() override {
    if (!push_->MaySealAgain()) return push_->Seal();
    return Retry(policy_, sleep_, [&] { return push_->Seal(); });
  }
  bool MaySealAgain() const override { return push_->MaySealAgain(); }

 private:
  const std::unique_ptr<BegunPush> push_;
  const RetryPolicy& policy_;
  const Sleeper& sleep_;
};

}  // namespace

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

StatusOr<PushReport> RetryingParameterClient::PushExactly(const store::PushId& push,
                                                          std::span<const std::byte> payload,
                                                          std::shared_ptr<const void> owner) {
  return Retry(policy_, sleep_, [&] { return client_->PushExactly(push, payload, owner); });
}

std::unique_ptr<BegunPush> RetryingParameterClient::BeginPush(const store::PushId& push) {
  std::unique_ptr<BegunPush> begun = client_->BeginPush(push);
  if (begun == nullptr) return nullptr;
  return std::make_unique<RetryingBegunPush>(std::move(begun), policy_, sleep_);
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

StatusOr<std::optional<PullReport>> RetryingParameterClient::Hold(Version version,
                                                                  sync::Exactness exactness,
                                                                  const OnHeld& on_held) {
  return Retry(policy_, sleep_, [&] { return client_->Hold(version, exactness, on_held); });
}

}  // namespace paceline::rpc
