#include "lib/rpc/bulk/throttled_parameter_client.h"

#include <algorithm>
#include <utility>

namespace paceline::rpc {
namespace {

class ThrottledBegunPush final : public BegunPush {
 public:
  ThrottledBegunPush(std::unique_ptr<BegunPush> push, const ThrottleOptions& options)
      : push_(std::move(push)), options_(options) {}

  void Put(uint64_t offset_bytes, std::span<const std::byte> part) override {
    const Duration latency = options_.time_for(0);
    free_at_ = std::max(free_at_, options_.now()) + options_.time_for(part.size()) - latency;
    push_->Put(offset_bytes, part);
  }
  StatusOr<PushReport> Seal() override {
    const Time arrived_at = std::max(free_at_, options_.now()) + options_.time_for(0);
    StatusOr<PushReport> report = push_->Seal();
    const Duration missing = arrived_at - options_.now();
    if (report.ok() && missing > Duration::zero()) options_.sleep(missing);
    return report;
  }
  bool MaySealAgain() const override { return push_->MaySealAgain(); }

 private:
  const std::unique_ptr<BegunPush> push_;
  const ThrottleOptions& options_;
  Time free_at_{};  // The link's end has nothing left to take.
};

}  // namespace

ThrottledParameterClient::ThrottledParameterClient(std::unique_ptr<ParameterClient> client,
                                                   ThrottleOptions options)
    : client_(std::move(client)), options_(std::move(options)) {}

void ThrottledParameterClient::WaitSince(Time begin, uint64_t bytes) {
  const Duration missing = options_.time_for(bytes) - (options_.now() - begin);
  if (missing > Duration::zero()) options_.sleep(missing);
}

Status ThrottledParameterClient::Fill(WorkerId worker, Incarnation incarnation,
                                      std::span<const std::byte> payload,
                                      std::shared_ptr<const void> owner) {
  const Time begin = options_.now();
  Status status = client_->Fill(worker, incarnation, payload, std::move(owner));
  if (status.ok()) WaitSince(begin, payload.size());
  return status;
}

StatusOr<PushReport> ThrottledParameterClient::Push(const store::PushId& push,
                                                    std::span<const std::byte> payload,
                                                    std::shared_ptr<const void> owner) {
  const Time begin = options_.now();
  StatusOr<PushReport> report = client_->Push(push, payload, std::move(owner));
  if (report.ok()) WaitSince(begin, payload.size());
  return report;
}

std::unique_ptr<BegunPush> ThrottledParameterClient::BeginPush(const store::PushId& push) {
  std::unique_ptr<BegunPush> begun = client_->BeginPush(push);
  if (begun == nullptr) return nullptr;
  return std::make_unique<ThrottledBegunPush>(std::move(begun), options_);
}

StatusOr<PullReport> ThrottledParameterClient::PullNamed(Version version, sync::Exactness exactness,
                                                         std::span<std::byte> into,
                                                         const OnNamed& on_named) {
  const Time begin = options_.now();
  const OnNamed named_late = [&] {
    WaitSince(begin, 0);
    on_named();
  };
  StatusOr<PullReport> report =
      client_->PullNamed(version, exactness, into, on_named ? named_late : nullptr);
  // A superseded answer carries no bytes.
  if (report.ok()) WaitSince(begin, report->is_superseded ? 0 : into.size());
  return report;
}

}  // namespace paceline::rpc
