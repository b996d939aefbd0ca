// Measures what it takes to end a step: from an interrupt, at a moment of the step that is drawn,
// until the step has returned. Beside it the same step, which runs to its end.
//
//   bench_interrupt [--steps N] [--threads N] [--samples FOLDER] [--json FILE]
//
// FOLDER is deploy/samples. Both take turns, so that a disturbance of the machine falls on both.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "lib/learn/training.h"
#include "lib/telemetry/clock.h"
#include "lib/worker/loop/step_stop.h"
#include "tests/bench/report.h"

namespace paceline::bench {
namespace {

using telemetry::SteadyNow;

constexpr int kWarmups = 5;

struct Options {
  int steps = 100;
  int threads = 1;
  std::string samples = "deploy/samples";
  std::string json = JsonPathFromEnvironment();
};

struct Model {
  std::string name;
  learn::TrainingOptions training;
  uint64_t batch = 0;
};

// A training set of nothing, as safetensors; only its shape matters here.
std::string WriteZeros(const std::string& path, uint64_t rows, uint64_t features) {
  const uint64_t inputs = rows * features * sizeof(float);
  std::string header =
      fmt::format(R"({{"inputs":{{"dtype":"F32","shape":[{0},{1}],"data_offsets":[0,{2}]}},)"
                  R"("targets":{{"dtype":"I64","shape":[{0}],"data_offsets":[{2},{3}]}}}})",
                  rows, features, inputs, inputs + rows * sizeof(int64_t));
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t size = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&size), sizeof size) << header;
  file << std::string(inputs + rows * sizeof(int64_t), '\0');
  return path;
}

std::vector<Model> Models(const Options& options, const std::string& zeros) {
  const learn::TrainingOptions digits{
      .model_path = options.samples + "/digits/cnn.pt",
      .loss = "CrossEntropy",
      .train = {.path = options.samples + "/digits/train.safetensors"},
      .threads = options.threads};
  const learn::TrainingOptions mlp{
      .built_in =
          learn::BuiltIn{.kind = learn::BuiltInKind::kMlp, .outputs = 10, .hidden = {4096, 4096}},
      .loss = "CrossEntropy",
      .train = {.path = zeros},
      .threads = options.threads};
  return {{"digits CNN, 11 samples", digits, 11},
          {"digits CNN, 256 samples", digits, 256},
          {"MLP 3072-4096-4096-10, 32 samples", mlp, 32}};
}

double Millis(Duration duration) { return ToSeconds(duration) * 1000; }

class Bench {
 public:
  explicit Bench(const Model& model)
      : ranges_{{0, 0, model.batch}}, training_(*learn::Training::Create(model.training)) {}

  double Warm() {
    std::vector<double> millis;
    for (int i = 0; i < kWarmups; ++i) {
      const Time begin = SteadyNow();
      (void)training_->Step(ranges_);
      millis.push_back(Millis(SteadyNow() - begin));
    }
    return millis_ = Median(millis);
  }

  // Milliseconds from an interrupt at that share of the step until it has ended; nothing if it had.
  std::optional<double> Interrupt(double share, bool is_heard) {
    sequence_ = sequence_.Next();
    stop_.Begin(sequence_);
    Time ordered{};
    std::thread other([&] {
      // sleeps: a moment of the step that is drawn; nothing happens at it but the interrupt
      std::this_thread::sleep_until(std::chrono::steady_clock::now() +
                                    std::chrono::duration<double, std::milli>(millis_ * share));
      ordered = SteadyNow();
      stop_.Interrupt(sequence_);
    });
    const auto result = training_->Step(
        ranges_, is_heard ? learn::KeepGoing([this] { return stop_.MayGoOn(); }) : nullptr);
    const Time end = SteadyNow();
    stop_.End(result.status());
    other.join();
    if (ordered >= end || (is_heard && result.ok())) return std::nullopt;
    return Millis(end - ordered);
  }

 private:
  const std::vector<learn::SampleRange> ranges_;
  const std::unique_ptr<learn::Training> training_;
  worker::StepStop stop_{SteadyNow};
  Sequence sequence_;
  double millis_ = 0;
};

int Run(const Options& options) {
  const std::string zeros = std::filesystem::temp_directory_path() /
                            fmt::format("bench-interrupt-{}.safetensors", getpid());
  WriteZeros(zeros, 64, 3072);
  nlohmann::ordered_json rows;
  fmt::print("{:36}{:>9}{:>24}{:>28}\n", "", "step ms", "ended after ms p50 (p90)",
             "would have run on p50 (p90)");
  for (const Model& model : Models(options, zeros)) {
    Bench bench(model);
    const double step = bench.Warm();
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> share(0, 0.95);
    std::vector<double> ended, run_on;
    for (int i = 0; i < options.steps; ++i) {
      const double at = share(random);
      if (const auto millis = bench.Interrupt(at, true)) ended.push_back(*millis);
      if (const auto millis = bench.Interrupt(at, false)) run_on.push_back(*millis);
    }
    fmt::print("{:36}{:>9.2f}{:>15.2f} ({:.2f}){:>19.2f} ({:.2f})\n", model.name, step,
               Median(ended), Quantile(ended, 0.9), Median(run_on), Quantile(run_on, 0.9));
    rows.push_back({{"name", model.name},
                    {"threads", options.threads},
                    {"step_ms", step},
                    {"ended_ms_p50", Median(ended)},
                    {"ended_ms_p90", Quantile(ended, 0.9)},
                    {"run_on_ms_p50", Median(run_on)},
                    {"run_on_ms_p90", Quantile(run_on, 0.9)}});
  }
  std::filesystem::remove(zeros);
  return WriteRows(rows, options.json);
}

}  // namespace
}  // namespace paceline::bench

int main(int argc, char** argv) {
  paceline::bench::Options options;
  CLI::App app("From an interrupt until the step has ended.", "bench_interrupt");
  app.add_option("--steps", options.steps, "Of each model")->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "Of LibTorch")->check(CLI::PositiveNumber);
  app.add_option("--samples", options.samples, "Folder deploy/samples");
  app.add_option("--json", options.json, "File that gets the rows");
  CLI11_PARSE(app, argc, argv);
  return paceline::bench::Run(options);
}
