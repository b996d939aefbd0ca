#include <deque>
#include <thread>
#include <vector>

#include <sys/socket.h>

#include "lib/rpc/bulk/allocator.h"
#include "lib/rpc/bulk/grpc_parameter_client.h"
#include "lib/rpc/tls_credentials.h"
#include "tests/bench/data_plane_processes.h"
#include "tests/bench/raw_stream.h"

namespace paceline::bench {
namespace {

using Payload = std::vector<std::byte>;

Payload SmallNumbers(uint64_t bytes) {
  Payload payload(bytes);
  auto* const numbers = reinterpret_cast<float*>(payload.data());
  for (uint64_t i = 0; i < bytes / sizeof(float); ++i)
    numbers[i] = static_cast<float>(i % 1001) / 1024;
  return payload;
}

template <class T>
T OrFail(StatusOr<T> result) {
  if (!result.ok()) Fail(Message(result.status()).c_str());
  return *std::move(result);
}

rpc::ChannelOptions Channel(const DataPlaneSetup& setup) {
  if (setup.tls_folder.empty()) return {};
  return {.credentials = OrFail(rpc::LoadTlsCredentials({setup.tls_folder})).channel,
          .peer_names = [](ShardId) { return std::string(kTlsName); }};
}

class Lane {
 public:
  Lane(const DataPlaneSetup& setup, uint32_t index, const std::string& address)
      : setup_(setup),
        index_(index),
        into_(setup.bytes),
        client_(
            OrFail(rpc::OpenParameterClient({.generation = {1, 1},
                                             .shards = {{ShardId(0), address, {0, setup.bytes}}},
                                             .channel = Channel(setup)}))) {}

  void Fill(const std::shared_ptr<const Payload>& payload) {
    const Status status = client_->Fill(WorkerId(index_), Incarnation(1), *payload, payload);
    if (!status.ok()) bench::Fail(Message(status).c_str());
  }

  void Push(const std::shared_ptr<const Payload>& payload, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      ++sequence_;
      // The slots of all but the newest pushes are free, as a rule long since.
      while (setup_.dropped->pushes[index_].load() + kSlotsPerLane < sequence_)
        std::this_thread::yield();
      const store::PushId id{WorkerId(index_), Incarnation(1), Sequence(sequence_)};
      OrFail(client_->Push(id, *payload, payload));
      if (::send(setup_.done_descriptor[1], &id, sizeof(id), MSG_NOSIGNAL) != sizeof(id))
        bench::Fail("cannot tell of a push");
    }
  }

  void Pull(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i)
      OrFail(client_->Pull(Version(0), sync::Exactness::kExact, into_));
  }

 private:
  const DataPlaneSetup& setup_;
  const uint32_t index_;
  Payload into_;
  uint64_t sequence_ = 0;
  std::unique_ptr<rpc::ParameterClient> client_;
};

class Worker {
 public:
  Worker(const DataPlaneSetup& setup, uint32_t index, const Serving& serving)
      : payload_(std::make_shared<const Payload>(SmallNumbers(setup.bytes))),
        raw_(serving.raw_address) {
    for (uint32_t i = 0; i < kWindowMax; ++i)
      lanes_.emplace_back(setup, index * kWindowMax + i, serving.grpc_address);
  }

  void Fill() { lanes_.front().Fill(payload_); }

  Done Carry(const Task& task) {
    const double cpu = CpuSeconds();
    const double begin = SteadySeconds();
    if (task.kind == TaskKind::kRaw) {
      raw_.Send(*payload_, task.count, task.window);
    } else {
      std::vector<std::thread> others;
      for (uint64_t i = 1; i < task.window; ++i)
        others.emplace_back([this, &task, i] { CarryLane(lanes_[i], task); });
      CarryLane(lanes_[0], task);
      for (std::thread& other : others) other.join();
    }
    const double end = SteadySeconds();
    return {begin, end, CpuSeconds() - cpu};
  }

 private:
  void CarryLane(Lane& lane, const Task& task) const {
    const uint64_t count = task.count / task.window;
    task.kind == TaskKind::kPush ? lane.Push(payload_, count) : lane.Pull(count);
  }

  const std::shared_ptr<const Payload> payload_;
  RawStream raw_;
  std::deque<Lane> lanes_;
};

}  // namespace

void RunWorkerProcess(const DataPlaneSetup& setup, uint32_t index, Line& line) {
  rpc::TuneAllocator();
  Worker worker(setup, index, line.Receive<Serving>());
  if (index == 0) worker.Fill();
  line.Send(Filled{});
  while (true) line.Send(worker.Carry(line.Receive<Task>()));
}

}  // namespace paceline::bench
