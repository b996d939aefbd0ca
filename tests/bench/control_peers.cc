// The shard and the workers of bench_control.
#include <chrono>
#include <utility>
#include <vector>

#include "lib/rpc/bulk/allocator.h"
#include "lib/rpc/control/shard_session.h"
#include "lib/telemetry/clock.h"
#include "lib/worker/loop/loop.h"
#include "lib/worker/process/connections.h"
#include "ps-server/service/grpc_server.h"
#include "ps-server/service/shard_service.h"
#include "ps-server/shard/shard_host.h"
#include "tests/bench/control_processes.h"

namespace paceline::bench {
namespace {

constexpr Duration kConnectTimeout = std::chrono::seconds(30);
constexpr Duration kCompute = std::chrono::milliseconds(1);

void FailIfNot(const Status& status) {
  if (!status.ok()) Fail(Message(status).c_str());
}

// Keeps a processor busy for as long as a step of a small model.
class BusyTrainer final : public worker::Trainer {
 public:
  explicit BusyTrainer(uint64_t parameters)
      : layout_(store::Layout::Create({{"w", {static_cast<int64_t>(parameters)}}}).value()),
        parameters_(layout_.total_bytes()),
        push_(layout_.total_bytes()) {}

  Status BeginAnew() override { return OkStatus(); }
  const store::Layout& layout() const override { return layout_; }
  uint64_t train_samples() const override { return 1 << 20; }
  std::span<std::byte> parameters() override { return parameters_; }
  std::span<const std::byte> push() const override { return push_; }
  StatusOr<worker::StepResult> Step(std::span<const protocol::SampleRange> ranges,
                                    worker::StepControl&) override {
    const Time end = telemetry::SteadyNow() + kCompute;
    while (telemetry::SteadyNow() < end) {
    }
    worker::StepResult result{.loss = 1};
    for (const protocol::SampleRange& range : ranges) result.samples += range.size();
    return result;
  }
  StatusOr<worker::Evaluation> Evaluate(const std::function<void()>&) override {
    return FailedPrecondition("no such set");
  }

 private:
  const store::Layout layout_;
  std::vector<std::byte> parameters_;
  std::vector<std::byte> push_;
};

}  // namespace

void RunControlShard(const ControlSetup& setup, Line&) {
  rpc::TuneAllocator();
  auto session = rpc::ShardSession::Connect(setup.Address("coordinator"), kConnectTimeout);
  FailIfNot(session.status());
  ps::ShardHost host(
      [&](const protocol::ShardMessage& message) { (void)(*session)->Send(message); });
  ps::ShardService service(host);
  const auto server =
      ps::GrpcServer::Start({.address = setup.Address("shard"), .services = {&service}});
  FailIfNot(server.status());
  (*session)->HandTo([&host](const protocol::ShardOrder& order) {
    if (std::holds_alternative<protocol::StopShard>(order)) return false;
    host.Order(order);
    return true;
  });
  FailIfNot((*session)->Send(protocol::Register{ShardId(1), (*server)->address()}));
  while (true) {
    const StatusOr<protocol::ShardOrder> order = (*session)->Receive(Seconds(1));
    if (order.ok() || order.status().code() != StatusCode::kDeadlineExceeded) break;
    (void)(*session)->Send(protocol::ShardHeartbeat{});
  }
  (*session)->Close();
}

void RunControlWorker(const ControlSetup& setup, uint32_t index, Line&) {
  (void)!::nice(5);  // As `paceline run` starts them.
  rpc::TuneAllocator();
  BusyTrainer trainer(setup.parameters);
  worker::Loop loop({.worker = WorkerId(index), .now = telemetry::SteadyNow},
                    worker::GrpcConnector({.coordinator = setup.Address("coordinator")}), &trainer);
  FailIfNot(loop.Run().status());
}

}  // namespace paceline::bench
