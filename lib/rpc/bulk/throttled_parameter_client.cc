#include "lib/rpc/bulk/throttled_parameter_client.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace paceline::rpc {
namespace {

class ThrottledBegunPush final : public BegunPush {
 public:
  ThrottledBegunPush(std::unique_ptr<BegunPush> push, const ThrottleOptions& options)
      : push_(std::move(push)), options_(options) {}

  void Put(uint64_t offset_bytes, std::span<const std::byte> part) override {
    puts_.emplace_back(options_.now(), part.size());
    push_->Put(offset_bytes, part);
  }
  StatusOr<PushReport> Seal() override {
    const Time sealed_at = options_.now();
    StatusOr<PushReport> report = push_->Seal();
    if (!report.ok()) return report;
    const Duration missing =
        std::max(TakenAt(report->wire_bytes), sealed_at) + options_.time_for(0) - options_.now();
    if (missing > Duration::zero()) options_.sleep(missing);
    return report;
  }
  bool MaySealAgain() const override { return push_->MaySealAgain(); }

 private:
  // When the link has taken all that was put, each part of it after the one before.
  Time TakenAt(std::optional<uint64_t> wire_bytes) const {
    uint64_t all = 0;
    for (const auto& [when, bytes] : puts_) all += bytes;
    Time free_at{};
    for (const auto& [when, bytes] : puts_) {
      // Of what travels rounded, a share.
      const uint64_t sent = wire_bytes && all > 0 ? bytes * *wire_bytes / all : bytes;
      free_at = std::max(free_at, when) + options_.time_for(sent) - options_.time_for(0);
    }
    return free_at;
  }

  const std::unique_ptr<BegunPush> push_;
  const ThrottleOptions& options_;
  std::vector<std::pair<Time, uint64_t>> puts_;
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
  if (report.ok()) WaitSince(begin, report->wire_bytes.value_or(payload.size()));
  return report;
}

StatusOr<PushReport> ThrottledParameterClient::PushExactly(const store::PushId& push,
                                                           std::span<const std::byte> payload,
                                                           std::shared_ptr<const void> owner) {
  const Time begin = options_.now();
  StatusOr<PushReport> report = client_->PushExactly(push, payload, std::move(owner));
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
  if (report.ok())
    WaitSince(begin, report->is_superseded ? 0 : report->wire_bytes.value_or(into.size()));
  return report;
}

}  // namespace paceline::rpc
