// Measures the store's kernels beside memcpy and a triad, in the same run.
//
//   bench_store [--json FILE] [--rounds N]        (or JSON=FILE in the environment)
//
// Each round runs everything once, one after the other, so that a disturbance of the machine falls
// on all alike; ratios are taken within a round, and the medians over the rounds are printed.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/optim/dispatch.h"
#include "lib/optim/optimizer.h"
#include "lib/store/kernels.h"
#include "lib/store/shard.h"
#include "lib/store/slice_parts.h"

namespace paceline::store {
namespace {

constexpr const char* kRule =
    "GB/s of bytes touched: each array that a loop reads or writes counts once a pass (4 bytes an "
    "element; read and\n"
    "written in place counts twice), traffic that the cache adds (write-allocate) does not. 1 MB = "
    "10^6 bytes an array.\n"
    "One thread. Ratios: to the triad a = b + s x c of the same round; medians over the rounds.";

PACELINE_KERNEL void Triad(const float* b, const float* c, size_t count, float scale, float* a) {
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) a[i] = b[i] + scale * c[i];
}

struct Kernel {
  std::string name;
  double bytes_per_element;
  std::function<void()> run;
};

// Everything that is measured at one size. Arrays are touched when made.
class Workbench {
 public:
  explicit Workbench(size_t elements)
      : a_(elements, 1),
        b_(elements, 2),
        c_(elements, 0.5f),
        sgd_(Make(optim::SgdOptions{.momentum = 0.9})),
        adamw_(Make(optim::AdamWOptions{})),
        shard_(MakeShard()) {}

  std::vector<Kernel> Kernels() {
    return {
        {"memcpy", 8, [this] { std::memcpy(a_.data(), b_.data(), a_.size() * sizeof(float)); }},
        {"triad", 12, [this] { Triad(b_.data(), c_.data(), a_.size(), 0.5f, a_.data()); }},
        {"accumulate-first", 8, [this] { SetWeighted(b_, 0.5f, a_); }},
        {"accumulate", 12, [this] { AddWeighted(b_, 0.5f, a_); }},
        {"receipt", 4, [this] { BlockSquaredNorms(std::as_bytes(std::span(b_)), WholeOf()); }},
        {"sgd-momentum", 20, [this] { sgd_->Step(b_, c_, kStep, a_); }},
        {"adamw", 28, [this] { adamw_->Step(b_, c_, kStep, a_); }},
        {"commit-sgd-momentum", 20, [this] { Commit(); }},
    };
  }

  // A push to commit, outside what is measured.
  void Prepare() {
    const PushId id{WorkerId(0), Incarnation(1), Sequence(version_ + 1)};
    const auto staging = shard_->Stage(id);
    std::memcpy(staging->bytes.data(), c_.data(), staging->bytes.size());
    if (!shard_->Seal(id, staging->ticket).ok() || !shard_->Accumulate(id, 1).ok()) std::abort();
  }

 private:
  static constexpr optim::StepOptions kStep{.gradient_scale = 0.25, .learning_rate = 1e-4};

  SliceParts WholeOf() const {
    const uint64_t bytes = b_.size() * sizeof(float);
    return {bytes, bytes, bytes, bytes};
  }

  std::unique_ptr<optim::Optimizer> Make(const optim::OptimizerOptions& options) const {
    return optim::MakeOptimizer(options, a_.size()).value();
  }

  std::unique_ptr<Shard> MakeShard() const {
    const Layout layout = Layout::Create({{"w", {static_cast<int64_t>(a_.size())}}}).value();
    auto shard = Shard::Create({.layout = layout,
                                .slice = {0, layout.total_bytes()},
                                .optimizer = optim::SgdOptions{.momentum = 0.9}})
                     .value();
    if (!shard->Open().ok()) std::abort();
    return shard;
  }

  void Commit() {
    ++version_;
    if (!shard_
             ->Commit({.version = Version(version_), .gradient_scale = 0.25, .learning_rate = 1e-4})
             .ok()) {
      std::abort();
    }
  }

  std::vector<float> a_, b_, c_;
  std::unique_ptr<optim::Optimizer> sgd_, adamw_;
  std::unique_ptr<Shard> shard_;
  uint64_t version_ = 0;
};

double Seconds(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Row {
  std::string name;
  size_t bytes = 0;  // Of one array.
  double gb_per_s = 0, ratio_to_triad = 0, ratio_to_memcpy = 0;
};

// One pass over small arrays is too short for the clock: passes are repeated, and the fastest of a
// round counts.
std::vector<Row> Measure(size_t array_bytes, int rounds) {
  const size_t elements = array_bytes / sizeof(float);
  Workbench bench(elements);
  const std::vector<Kernel> kernels = bench.Kernels();
  const int passes = array_bytes >= 50'000'000 ? 1 : array_bytes >= 10'000'000 ? 3 : 20;
  std::vector<std::vector<double>> speeds(kernels.size());
  for (int round = 0; round <= rounds; ++round) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      double fastest = 1e9;
      for (int pass = 0; pass < passes; ++pass) {
        if (kernels[i].name.starts_with("commit")) bench.Prepare();
        fastest = std::min(fastest, Seconds(kernels[i].run));
      }
      // The first round warms up.
      if (round > 0)
        speeds[i].push_back(kernels[i].bytes_per_element * static_cast<double>(elements) / fastest /
                            1e9);
    }
  }
  const auto ratios = [&](size_t i, size_t to) {
    std::vector<double> all(speeds[i].size());
    std::transform(speeds[i].begin(), speeds[i].end(), speeds[to].begin(), all.begin(),
                   std::divides<>());
    return Median(all);
  };
  std::vector<Row> rows;
  for (size_t i = 0; i < kernels.size(); ++i) {
    rows.push_back({kernels[i].name, array_bytes, Median(speeds[i]), ratios(i, 1), ratios(i, 0)});
  }
  return rows;
}

void Print(const std::vector<Row>& rows) {
  std::cout << kRule << "\n\n"
            << fmt::format("{:<22}{:>12}{:>10}{:>10}{:>10}\n", "kernel", "array", "GB/s", "/triad",
                           "/memcpy");
  for (const Row& row : rows) {
    std::cout << fmt::format("{:<22}{:>9} MB{:>10.1f}{:>10.2f}{:>10.2f}\n", row.name,
                             row.bytes / 1'000'000, row.gb_per_s, row.ratio_to_triad,
                             row.ratio_to_memcpy);
  }
}

int WriteJson(const std::vector<Row>& rows, int rounds, const std::string& path) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    list.push_back({{"name", row.name},
                    {"bytes", row.bytes},
                    {"gb_per_s", row.gb_per_s},
                    {"ratio_to_triad", row.ratio_to_triad},
                    {"ratio_to_memcpy", row.ratio_to_memcpy},
                    {"rounds", rounds}});
  }
  std::ofstream file(path);
  file << list.dump(2) << "\n";
  file.flush();
  if (!file) std::cerr << "cannot write " << path << "\n";
  return file ? 0 : 1;
}

int Run(int argc, char** argv) {
  const char* const from_environment = std::getenv("JSON");
  std::string json_path = from_environment != nullptr ? from_environment : "";
  int rounds = 21;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--json" && !value.empty()) {
      json_path = value;
    } else if (flag == "--rounds" && std::atoi(value.c_str()) > 0) {
      rounds = std::atoi(value.c_str());
    } else {
      std::cerr << "usage: bench_store [--json FILE] [--rounds N]\n";
      return 2;
    }
  }
  std::vector<Row> rows;
  for (const size_t bytes : {1'000'000, 16'000'000, 100'000'000}) {
    const std::vector<Row> more = Measure(bytes, rounds);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  Print(rows);
  return json_path.empty() ? 0 : WriteJson(rows, rounds, json_path);
}

}  // namespace
}  // namespace paceline::store

int main(int argc, char** argv) { return paceline::store::Run(argc, argv); }
