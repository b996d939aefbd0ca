// Measures push and pull between real processes, beside a raw stream of the same bytes.
//
//   bench_data_plane [--json FILE] [--rounds N] [--transport tcp|tls|unix] [--bytes N] [--workers
//   1|2]
//                    [--window 1|4]
//
// (JSON=FILE in the environment names the file too.) One shard, one or two workers, each a process
// of its own. Each round runs the raw stream, pushes and pulls one after the other, so that a
// disturbance of the machine falls on all alike; medians over the rounds are printed, and ratios of
// medians.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/tls/folder.h"
#include "lib/tls/issue.h"
#include "tests/bench/data_plane_processes.h"
#include "tests/bench/raw_stream.h"
#include "tests/bench/report.h"

namespace paceline::bench {
namespace {

constexpr const char* kRule =
    "GB/s of payload, 10^9 bytes, all workers together; KB and MB are 2^10 and 2^20 bytes. CPU is "
    "user and system time of all\nprocesses, shard and workers. A push ends with the shard's "
    "receipt (copied into staging, squared norms summed), a pull\nwhen all bytes lie in the "
    "worker's memory. Window: transfers in flight for each worker, each on a connection of its\n"
    "own. Raw: one stream for each worker with the same window, send and recv into one place, one "
    "byte back, plain always. tls: TCP with TLS 1.3 and certificates on\nboth ends.";

constexpr double kBurstSeconds = 0.1;
constexpr std::array kKinds = {TaskKind::kRaw, TaskKind::kPush, TaskKind::kPull};
constexpr std::array kNames = {"raw", "push", "pull"};

struct Options {
  std::string json_path = JsonPathFromEnvironment();
  int rounds = 7;
  std::optional<std::string> transport;
  std::optional<uint64_t> bytes;
  std::optional<uint32_t> workers;
  std::optional<uint32_t> window;
};

struct Row {
  std::string name;
  uint64_t bytes = 0;
  uint32_t workers = 0;
  uint32_t window = 0;
  std::string transport;
  double gb_per_s = 0, cpu_s_per_gb = 0, ratio_to_raw = 0;
};

struct Speed {
  double gb_per_s;
  double cpu_s_per_gb;
};

Dropped* SharedCounters() {
  void* const memory =
      ::mmap(nullptr, sizeof(Dropped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) Fail("no shared memory");
  return new (memory) Dropped{};
}

// The processes for one size and transport.
class Bench {
 public:
  Bench(uint64_t bytes, const std::string& transport, const std::string& folder)
      : setup_(SetupFor(bytes, transport, folder)),
        shard_([this](Line& line) { RunShardProcess(setup_, line); }) {
    for (uint32_t i = 0; i < kWorkersMax; ++i)
      workers_.emplace_back([this, i](Line& line) { RunWorkerProcess(setup_, i, line); });
    const auto serving = shard_.line().Receive<Serving>();
    for (ChildProcess& worker : workers_) {
      worker.line().Send(serving);
      worker.line().Receive<Filled>();
    }
    shard_.line().Send(Begin{});
    shard_.line().Receive<Opened>();
  }
  ~Bench() {
    workers_.clear();
    ::munmap(setup_.dropped, sizeof(Dropped));
    for (const int descriptor : setup_.done_descriptor) ::close(descriptor);
  }
  Bench(Bench&&) = delete;

  // `count` transfers by each of the first `workers`.
  Speed Run(const Task& task, uint32_t workers) {
    const double shard_cpu = ShardCpu();
    for (uint32_t i = 0; i < workers; ++i) workers_[i].line().Send(task);
    double begin = 1e300, end = 0, cpu = 0;
    for (uint32_t i = 0; i < workers; ++i) {
      const auto done = workers_[i].line().Receive<Done>();
      begin = std::min(begin, done.begin);
      end = std::max(end, done.end);
      cpu += done.cpu_seconds;
    }
    cpu += ShardCpu() - shard_cpu;
    const double gigabytes = 1e-9 * static_cast<double>(setup_.bytes * task.count * workers);
    return {gigabytes / (end - begin), cpu / gigabytes};
  }

 private:
  static DataPlaneSetup SetupFor(uint64_t bytes, const std::string& transport,
                                 const std::string& folder) {
    DataPlaneSetup setup{.bytes = bytes, .dropped = SharedCounters()};
    const bool is_unix = transport == "unix";
    setup.grpc_address = is_unix ? fmt::format("unix:{}/grpc-{}", folder, bytes) : "127.0.0.1:0";
    setup.raw_address = is_unix ? fmt::format("unix:{}/raw-{}", folder, bytes) : "127.0.0.1:0";
    if (transport == "tls") setup.tls_folder = folder;
    if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, setup.done_descriptor) != 0)
      Fail("no socket pair");
    return setup;
  }

  double ShardCpu() {
    shard_.line().Send(CpuAsked{});
    return shard_.line().Receive<CpuUsed>().seconds;
  }

  const DataPlaneSetup setup_;
  ChildProcess shard_;
  std::vector<ChildProcess> workers_;
};

// As many transfers as take about a burst.
uint64_t CountFor(Bench& bench, const Task& task, uint32_t workers, uint64_t bytes) {
  const Speed speed = bench.Run(task, workers);
  const double transfers = kBurstSeconds * speed.gb_per_s * 1e9 /
                           (static_cast<double>(bytes) * static_cast<double>(workers));
  const auto windows = static_cast<uint64_t>(transfers / static_cast<double>(task.window));
  return task.window * std::max<uint64_t>(windows, 1);
}

// Raw, push and pull of one size, transport, number of workers and window.
std::vector<Row> Measure(Bench& bench, const Row& what, int rounds) {
  std::array<Task, kKinds.size()> tasks{};
  for (size_t i = 0; i < kKinds.size(); ++i) {
    // Connects and warms up; then a longer try is timed.
    tasks[i] = {kKinds[i], what.window * std::max<uint64_t>(4'000'000 / what.bytes, 1),
                what.window};
    bench.Run(tasks[i], what.workers);
    tasks[i].count = CountFor(bench, tasks[i], what.workers, what.bytes);
  }
  std::array<std::vector<double>, kKinds.size()> gb_per_s, cpu_s_per_gb;
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < kKinds.size(); ++i) {
      const Speed speed = bench.Run(tasks[i], what.workers);
      gb_per_s[i].push_back(speed.gb_per_s);
      cpu_s_per_gb[i].push_back(speed.cpu_s_per_gb);
    }
  }
  std::vector<Row> rows(kKinds.size(), what);
  for (size_t i = 0; i < kKinds.size(); ++i) {
    rows[i].name = kNames[i];
    rows[i].gb_per_s = Median(gb_per_s[i]);
    rows[i].cpu_s_per_gb = Median(cpu_s_per_gb[i]);
    rows[i].ratio_to_raw = rows[i].gb_per_s / rows[0].gb_per_s;
  }
  return rows;
}

std::string SizeText(uint64_t bytes) {
  return bytes >= 1 << 20 ? fmt::format("{} MB", bytes >> 20) : fmt::format("{} KB", bytes >> 10);
}

void Print(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    std::cout << fmt::format("{:<8}{:>9}{:>9}{:>9}{:>11}{:>10.2f}{:>12.3f}{:>8.2f}\n", row.name,
                             SizeText(row.bytes), row.workers, row.window, row.transport,
                             row.gb_per_s, row.cpu_s_per_gb, row.ratio_to_raw);
  }
  std::cout << std::flush;
}

nlohmann::ordered_json Rows(const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    list.push_back({{"name", row.name},
                    {"bytes", row.bytes},
                    {"workers", row.workers},
                    {"window", row.window},
                    {"transport", row.transport},
                    {"gb_per_s", row.gb_per_s},
                    {"cpu_s_per_gb", row.cpu_s_per_gb},
                    {"ratio_to_raw", row.ratio_to_raw}});
  }
  return list;
}

std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--json" && !value.empty()) {
      options.json_path = value;
    } else if (flag == "--rounds" && std::atoi(value.c_str()) > 0) {
      options.rounds = std::atoi(value.c_str());
    } else if (flag == "--transport" && (value == "tcp" || value == "tls" || value == "unix")) {
      options.transport = value;
    } else if (flag == "--bytes" && std::atoll(value.c_str()) >= 4) {
      options.bytes = static_cast<uint64_t>(std::atoll(value.c_str())) / 4 * 4;
    } else if (flag == "--workers" && (value == "1" || value == "2")) {
      options.workers = std::atoi(value.c_str());
    } else if (flag == "--window" && (value == "1" || value == "4")) {
      options.window = std::atoi(value.c_str());
    } else {
      return std::nullopt;
    }
  }
  return options;
}

// One for both ends: what costs is the same.
void WriteCertificate(const std::string& folder) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const tls::Validity today{now - std::chrono::hours(1), now + std::chrono::hours(24)};
  const auto authority = tls::MakeAuthority("bench", today);
  if (!authority.ok()) Fail(Message(authority.status()).c_str());
  const auto issued = tls::IssueCertificate(*authority, {kTlsName}, today);
  if (!issued.ok()) Fail(Message(issued.status()).c_str());
  const tls::TlsFolder files{folder};
  std::ofstream(files.certificate_file()) << issued->certificate;
  std::ofstream(files.key_file()) << issued->key;
  std::ofstream(files.authorities_file()) << authority->certificate;
}

std::vector<Row> MeasureAll(const Options& options, const std::string& folder) {
  std::vector<uint64_t> sizes = {64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20};
  if (options.bytes) sizes = {*options.bytes};
  std::vector<Row> all;
  for (const std::string transport : {"tcp", "tls", "unix"}) {
    if (options.transport.value_or(transport) != transport) continue;
    for (const uint64_t bytes : sizes) {
      Bench bench(bytes, transport, folder);
      for (const uint32_t workers : {1u, 2u}) {
        for (const uint32_t window : {1u, kWindowMax}) {
          if (options.workers.value_or(workers) != workers) continue;
          if (options.window.value_or(window) != window) continue;
          const std::vector<Row> rows = Measure(
              bench, {.bytes = bytes, .workers = workers, .window = window, .transport = transport},
              options.rounds);
          Print(rows);
          all.insert(all.end(), rows.begin(), rows.end());
        }
      }
    }
  }
  return all;
}

int Run(int argc, char** argv) {
  const std::optional<Options> options = Parse(argc, argv);
  if (!options) {
    std::cerr << "usage: bench_data_plane [--json FILE] [--rounds N] [--transport tcp|tls|unix] "
                 "[--bytes N] [--workers 1|2] [--window 1|4]\n";
    return 2;
  }
  char folder[] = "/tmp/paceline-bench-XXXXXX";
  if (::mkdtemp(folder) == nullptr) Fail("no folder for sockets");
  WriteCertificate(folder);
  std::cout << kRule << "\nTCP congestion control, raw and gRPC alike: " << CongestionControl()
            << fmt::format(". Rounds: {}.\n\n{:<8}{:>9}{:>9}{:>9}{:>11}{:>10}{:>12}{:>8}\n",
                           options->rounds, "name", "bytes", "workers", "window", "transport",
                           "GB/s", "CPU s/GB", "/raw")
            << std::flush;
  const std::vector<Row> rows = MeasureAll(*options, folder);
  std::filesystem::remove_all(folder);
  return WriteRows(Rows(rows), options->json_path);
}

}  // namespace
}  // namespace paceline::bench

int main(int argc, char** argv) { return paceline::bench::Run(argc, argv); }
