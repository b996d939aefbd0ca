#include "lib/rpc/bulk/throttled_parameter_client.h"

#include <utility>

namespace paceline::rpc {

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
