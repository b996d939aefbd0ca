// Defines Shards: a job's shards in this process, each behind a server of its own, for tests of the
// data plane.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/rpc/bulk/grpc_parameter_client.h"
#include "lib/rpc/bulk/retrying_parameter_client.h"
#include "lib/rpc/shared_memory/shared_memory_client.h"
#include "ps-server/service/grpc_server.h"
#include "ps-server/service/memory_service.h"
#include "ps-server/service/shard_service.h"
#include "ps-server/shard/shard_host.h"

namespace paceline::ps::testing {

enum class Transport { kUnix, kTcp, kMemory };

inline std::string NameOf(Transport transport) {
  switch (transport) {
    case Transport::kUnix:
      return "Unix";
    case Transport::kTcp:
      return "Tcp";
    case Transport::kMemory:
      return "Memory";
  }
  return "";
}

// A folder of its own for sockets, removed at the end.
class SocketFolder {
 public:
  SocketFolder() {
    char name[] = "/tmp/paceline-test-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~SocketFolder() { std::filesystem::remove_all(path_); }
  std::string Address(const std::string& name) const { return "unix:" + path_ + "/" + name; }

 private:
  std::string path_;
};

// How many mappings of shared memory this process has.
inline int MappedRegions() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("memfd:paceline") != std::string::npos;
  return count;
}

// One shard with its server.
class LiveShard {
 public:
  // A transfer that does not move for `idle` is ended.
  explicit LiveShard(std::string address, Duration idle = Seconds(60), bool shares_memory = false)
      : address_(std::move(address)),
        shares_memory_(shares_memory),
        host_([this](protocol::ShardMessage said) { Note(std::move(said)); }, nullptr, {},
              shares_memory ? ShardHost::Memory::kShareable : ShardHost::Memory::kPrivate),
        service_(host_, {}, idle) {
    Listen();
  }

  void Listen() {
    auto server = GrpcServer::Start({.address = address_, .services = {&service_}});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    address_ = server_->address();  // The same port again after a restart.
    if (!shares_memory_) return;
    auto memory = MemoryService::Start(host_, address_);
    EXPECT_TRUE(memory.ok()) << memory.status();
    memory_ = *std::move(memory);
  }
  void StopListening() {
    memory_.reset();
    server_->Stop(Duration::zero());
  }

  ShardHost& host() { return host_; }
  const MemoryService& memory() const { return *memory_; }
  const std::string& address() const { return address_; }

  // The shard's next message, which must be a T.
  template <class T>
  T Await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !said_.empty(); });
    const protocol::ShardMessage message = std::move(said_.front());
    said_.pop_front();
    if (const auto* failed = std::get_if<protocol::ShardFailed>(&message))
      ADD_FAILURE() << failed->reason;
    EXPECT_TRUE(std::holds_alternative<T>(message)) << message.index();
    return std::holds_alternative<T>(message) ? std::get<T>(message) : T{};
  }

 private:
  void Note(protocol::ShardMessage message) {
    std::lock_guard lock(mutex_);
    said_.push_back(std::move(message));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<protocol::ShardMessage> said_;
  std::string address_;
  const bool shares_memory_;
  ShardHost host_;
  ShardService service_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<MemoryService> memory_;
};

// Parameters and both kinds of buffers.
inline store::Layout LayoutOf(int64_t parameters) {
  return store::Layout::Create(
             {{"w", {parameters}},
              {"mean", {1000}, store::DataType::kFloat32, store::TensorKind::kBuffer},
              {"count", {3}, store::DataType::kInt64, store::TensorKind::kBuffer}})
      .value();
}

using Payload = std::shared_ptr<std::vector<std::byte>>;

// A whole layout of small random numbers.
inline Payload RandomPayload(const store::Layout& layout, uint64_t seed) {
  auto payload = std::make_shared<std::vector<std::byte>>(layout.total_bytes());
  std::mt19937_64 random(seed);
  for (uint64_t at = 0; at < layout.float_bytes(); at += 4) {
    const float value = static_cast<float>(static_cast<int64_t>(random() % 2001) - 1000) / 512;
    std::memcpy(payload->data() + at, &value, 4);
  }
  for (uint64_t at = layout.integer_begin_bytes(); at < layout.total_bytes(); at += 8) {
    const int64_t value = static_cast<int64_t>(random() % 1000);
    std::memcpy(payload->data() + at, &value, 8);
  }
  return payload;
}

inline constexpr Generation kGeneration{1, 1};

class Shards {
 public:
  std::optional<double> average_decay;  // Of the next Configure.

  Shards(Transport transport, store::Layout layout, uint32_t count, Duration idle = Seconds(60))
      : transport_(transport), layout_(std::move(layout)) {
    const std::vector<store::Slice> slices = store::SliceOverShards(layout_, count);
    for (uint32_t rank = 0; rank < count; ++rank) {
      shards_.emplace_back(
          transport == Transport::kTcp ? "127.0.0.1:0" : folder_.Address(fmt::format("s{}", rank)),
          idle, transport == Transport::kMemory);
      addresses_.push_back({ShardId(rank), shards_.back().address(), slices[rank]});
    }
  }

  // As the coordinator does when a worker joins; carried out when it returns.
  void Admit(WorkerId worker, Incarnation incarnation) {
    for (LiveShard& shard : shards_) {
      shard.host().Order(protocol::Admit{worker, incarnation});
      while (!shard.host().CheckLife(worker, incarnation).ok()) std::this_thread::yield();
    }
  }

  // With the first lives of workers 0 to 7 admitted.
  void Configure() {
    for (size_t rank = 0; rank < shards_.size(); ++rank) {
      shards_[rank].host().Order(
          protocol::Configure{.generation = kGeneration,
                              .layout = layout_,
                              .slice = addresses_[rank].slice,
                              .optimizer = optim::SgdOptions{.momentum = 0.9},
                              .average_decay = average_decay});
    }
    for (LiveShard& shard : shards_) shard.Await<protocol::Configured>();
    for (uint64_t worker = 0; worker < 8; ++worker) Admit(WorkerId(worker), Incarnation(1));
  }

  // Publishes what that worker filled in.
  void Open(WorkerId worker, Incarnation incarnation) {
    for (LiveShard& shard : shards_) {
      EXPECT_EQ(shard.Await<protocol::Filled>().worker, worker);
      shard.host().Order(protocol::Open{worker, incarnation});
      shard.Await<protocol::Opened>();
    }
  }

  void Commit(Version version, const std::vector<store::PushId>& pushes, bool is_pinned = false) {
    protocol::CommitAll order{.commit = {.version = version,
                                         .gradient_scale = 0.5,
                                         .learning_rate = 0.125,
                                         .is_pinned = is_pinned}};
    for (const store::PushId& push : pushes) order.pushes.push_back({push, 2});
    for (LiveShard& shard : shards_) shard.host().Order(order);
    for (LiveShard& shard : shards_) shard.Await<protocol::Committed>();
  }

  rpc::GrpcParameterClientOptions Options() const {
    return {.generation = kGeneration,
            .shards = addresses_,
            .parts = store::PartsOf(layout_),
            .bucket_bytes = 16 << 10};
  }

  std::unique_ptr<rpc::ParameterClient> Client() const {
    if (transport_ == Transport::kMemory)
      return std::make_unique<rpc::RetryingParameterClient>(BareClient(), rpc::RetryPolicy{});
    return *rpc::OpenParameterClient(Options());
  }

  // One that does not retry.
  std::unique_ptr<rpc::ParameterClient> BareClient(rpc::GrpcParameterClientOptions options) const {
    std::unique_ptr<rpc::ParameterClient> sockets = *rpc::GrpcParameterClient::Create(options);
    if (transport_ != Transport::kMemory) return sockets;
    auto shared = rpc::SharedMemoryClient::Create({.generation = options.generation,
                                                   .shards = options.shards,
                                                   .idle_timeout = options.idle_timeout,
                                                   .is_cancelled = options.is_cancelled,
                                                   .pulls_average = options.pulls_average},
                                                  sockets);
    EXPECT_TRUE(shared.ok()) << shared.status();
    return *std::move(shared);
  }
  std::unique_ptr<rpc::ParameterClient> BareClient() const { return BareClient(Options()); }

  // Configured, filled with `initial` by worker 0, open.
  std::unique_ptr<rpc::ParameterClient> Born(const Payload& initial) {
    Configure();
    auto client = Client();
    const Status filled = client->Fill(WorkerId(0), Incarnation(1), *initial, initial);
    EXPECT_TRUE(filled.ok()) << filled;
    Open(WorkerId(0), Incarnation(1));
    return client;
  }

  LiveShard& operator[](size_t rank) { return shards_[rank]; }
  const store::Layout& layout() const { return layout_; }

 private:
  const Transport transport_;
  const store::Layout layout_;
  SocketFolder folder_;
  std::deque<LiveShard> shards_;
  std::vector<protocol::ShardAddress> addresses_;
};

}  // namespace paceline::ps::testing
