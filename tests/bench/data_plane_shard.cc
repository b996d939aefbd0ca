#include <cstring>
#include <thread>

#include <sys/socket.h>

#include "lib/rpc/bulk/allocator.h"
#include "lib/rpc/tls_credentials.h"
#include "ps-server/service/grpc_server.h"
#include "ps-server/service/shard_service.h"
#include "ps-server/shard/shard_host.h"
#include "tests/bench/data_plane_processes.h"
#include "tests/bench/raw_stream.h"

namespace paceline::bench {
namespace {

// Frees the slots of pushes that are done.
void DropForever(const DataPlaneSetup& setup, const std::shared_ptr<store::Shard>& shard) {
  store::PushId push;
  while (::recv(setup.done_descriptor[0], &push, sizeof(push), 0) == sizeof(push)) {
    shard->Drop(push);
    setup.dropped->pushes[push.worker.value()].store(push.sequence.value());
  }
  Fail("no word of pushes any more");
}

template <size_t kSize>
void Copy(const std::string& text, char (&into)[kSize]) {
  if (text.size() >= kSize) Fail("address is too long");
  std::memcpy(into, text.c_str(), text.size() + 1);
}

}  // namespace

void RunShardProcess(const DataPlaneSetup& setup, Line& line) {
  rpc::TuneAllocator();
  const Generation generation{1, 1};
  std::atomic<bool> is_configured = false;
  std::atomic<bool> is_open = false;
  ps::ShardHost host([&](const protocol::ShardMessage& message) {
    if (const auto* failed = std::get_if<protocol::ShardFailed>(&message))
      Fail(failed->reason.c_str());
    if (std::holds_alternative<protocol::Configured>(message)) is_configured = true;
    if (std::holds_alternative<protocol::Opened>(message)) is_open = true;
  });
  const auto layout =
      store::Layout::Create({{"w", {static_cast<int64_t>(setup.bytes / sizeof(float))}}}).value();
  host.Order(protocol::Configure{.generation = generation,
                                 .layout = layout,
                                 .slice = {0, layout.total_bytes()},
                                 .optimizer = optim::SgdOptions{},
                                 .slots_per_worker = kSlotsPerLane});
  while (!is_configured) std::this_thread::yield();
  for (uint64_t worker = 0; worker < kLanesMax; ++worker)
    host.Order(protocol::Admit{WorkerId(worker), Incarnation(1)});
  ps::ShardService service(host);
  rpc::TlsCredentials credentials;
  if (!setup.tls_folder.empty()) credentials = *rpc::LoadTlsCredentials({setup.tls_folder});
  const auto server = ps::GrpcServer::Start(
      {.address = setup.grpc_address, .services = {&service}, .credentials = credentials.server});
  if (!server.ok()) Fail("shard cannot listen");
  const RawServer raw(setup.raw_address, setup.bytes);
  Serving serving{};
  Copy((*server)->address(), serving.grpc_address);
  Copy(raw.address(), serving.raw_address);
  line.Send(serving);

  line.Receive<Begin>();
  host.Order(protocol::Open{WorkerId(0), Incarnation(1)});
  while (!is_open) std::this_thread::yield();
  std::thread([&setup, shard = host.Serving(generation).value()] {
    DropForever(setup, shard);
  }).detach();
  line.Send(Opened{});
  while (true) {
    line.Receive<CpuAsked>();
    line.Send(CpuUsed{CpuSeconds()});
  }
}

}  // namespace paceline::bench
