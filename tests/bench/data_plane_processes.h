// Defines the two kinds of process that bench_data_plane measures, a shard and a worker, and what
// it says to them.
//
// The shard is a ShardHost behind ShardService and GrpcServer, as paceline-ps runs it; a worker
// moves bytes through OpenParameterClient, as paceline-worker does. No coordinator is there: a
// worker's word, one datagram, makes the shard drop a push that is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "tests/bench/child_process.h"

namespace paceline::bench {

inline constexpr uint32_t kWorkersMax = 2;
inline constexpr uint32_t kWindowMax = 4;

// A lane is one transfer in flight: a client and a connection of its own, and to the shard a worker
// of its own.
inline constexpr uint32_t kLanesMax = kWorkersMax * kWindowMax;

// A push overtakes the dropping of the one before, as with a real release.
inline constexpr uint32_t kSlotsPerLane = 2;

// In memory that all processes share.
struct Dropped {
  std::atomic<uint64_t> pushes[kLanesMax];  // The newest sequence of each lane that was dropped.
};

// Known to all processes before they are forked.
struct DataPlaneSetup {
  uint64_t bytes = 0;
  std::string grpc_address;  // unix:/path or 127.0.0.1:0
  std::string raw_address;
  std::string tls_folder;  // Of the one certificate that both ends show; empty: plain text.
  int done_descriptor[2] = {-1,
                            -1};  // [0]: where the shard hears of pushes; [1]: where it is told.
  Dropped* dropped = nullptr;
};

// The name in that certificate.
inline constexpr const char* kTlsName = "ps-0.bench.default";

// --- To and from the shard. It says Serving, gets Begin when the initial values are there, answers
// Opened, then answers each CpuAsked with CpuUsed.
struct Serving {
  char grpc_address[128];
  char raw_address[128];
};
struct Begin {};
struct Opened {};
struct CpuAsked {};
struct CpuUsed {
  double seconds;
};
void RunShardProcess(const DataPlaneSetup& setup, Line& line);

// --- To and from a worker. It gets Serving and, if it is the first, answers Filled; then it
// answers each Task with Done.
struct Filled {};
enum class TaskKind { kRaw, kPush, kPull };
struct Task {
  TaskKind kind;
  uint64_t count;   // Transfers, a multiple of window.
  uint64_t window;  // In flight at once; raw: on the one stream without an answer.
};
struct Done {
  double begin;  // Of the steady clock.
  double end;
  double cpu_seconds;
};
void RunWorkerProcess(const DataPlaneSetup& setup, uint32_t index, Line& line);

}  // namespace paceline::bench
