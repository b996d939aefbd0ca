// Defines ThrottledParameterClient: a ParameterClient whose transfers take at least as long as a
// slower link would need.
#pragma once

#include <functional>
#include <memory>

#include "lib/rpc/bulk/parameter_client.h"
#include "lib/rpc/retry.h"

namespace paceline::rpc {

struct ThrottleOptions {
  // The least time that a transfer of so many bytes takes, one way.
  std::function<Duration(uint64_t bytes)> time_for;
  std::function<Time()> now;  // The steady clock.
  Sleeper sleep = ThreadSleeper();
};

// After each transfer the caller sleeps for what is missing: the link waits, it does not burn. What
// was pushed counts when the call returns, since only then is it reported; what was pulled is what
// was published when it was asked for, as over a real link, and is named when a byte could be here.
// Each way is a link of its own. Threads as those of the client within.
class ThrottledParameterClient final : public ParameterClient {
 public:
  ThrottledParameterClient(std::unique_ptr<ParameterClient> client, ThrottleOptions options);

  Status Fill(WorkerId worker, Incarnation incarnation, std::span<const std::byte> payload,
              std::shared_ptr<const void> owner) override;
  StatusOr<PushReport> Push(const store::PushId& push, std::span<const std::byte> payload,
                            std::shared_ptr<const void> owner) override;
  StatusOr<PushReport> PushExactly(const store::PushId& push, std::span<const std::byte> payload,
                                   std::shared_ptr<const void> owner) override;
  // What is put begins to travel when it is put, after what was put before; Seal waits for the end.
  std::unique_ptr<BegunPush> BeginPush(const store::PushId& push) override;
  StatusOr<PullReport> PullNamed(Version version, sync::Exactness exactness,
                                 std::span<std::byte> into, const OnNamed& on_named) override;

 private:
  void WaitSince(Time begin, uint64_t bytes);

  const std::unique_ptr<ParameterClient> client_;
  const ThrottleOptions options_;
};

}  // namespace paceline::rpc
