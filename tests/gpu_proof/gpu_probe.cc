// What a worker computes on a device, and how long it takes; the parts of the GPU proof that need
// no job.
//
//   gpu_probe gradients --model FILE --data FILE --device CPU|CUDA --samples N --out FILE
//       writes the mean gradient over the first N samples of an epoch, as lib/learn pushes it, and
//       says
//       {"loss", "tensors": [{"name", "offset", "bytes"}]}
//   gpu_probe curve --model FILE --data FILE --device CPU|CUDA --sizes 1,2,4 [--steps N]
//       times steps of each size and says {"points": [{"samples", "seconds"}], "base",
//       "saturation", "per_sample", "worst"}: the curve as LB-BSP's Stepwise fits it, and how far
//       the worst point is from it, as a share of its time
//
// Exit code 1, with the reason, where something cannot be done; 3 where the device cannot be used.
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/learn/cuda_probe.h"
#include "lib/learn/training.h"
#include "lib/process/exit.h"
#include "lib/rpc/bulk/allocator.h"
#include "lib/sync/schemes/batching/curve_fit.h"
#include "lib/telemetry/clock.h"

namespace paceline::gpu_proof {
namespace {

using telemetry::SteadyNow;

constexpr int kWarmUpSteps = 3;

struct Options {
  std::string model, data, out;
  std::string device = "CPU";
  uint64_t samples = 1;
  std::vector<uint32_t> sizes;
  int steps = 11;
};

StatusOr<std::unique_ptr<learn::Training>> Open(const Options& options) {
  if (options.device == "CUDA") {
    if (const Status usable = learn::CheckCuda(learn::ThisMachine()); !usable.ok())
      return process::CannotWorkHere(usable);
  }
  return learn::Training::Create({.model_path = options.model,
                                  .loss = "CrossEntropy",
                                  .train = {.path = options.data},
                                  .device = options.device == "CUDA" ? "cuda" : "cpu"});
}

StatusOr<learn::StepResult> Step(learn::Training& training, uint64_t samples) {
  return training.Step(std::vector<learn::SampleRange>{{0, 0, samples}});
}

StatusOr<nlohmann::json> Gradients(const Options& options) {
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<learn::Training> training, Open(options));
  PACELINE_ASSIGN_OR_RETURN(const learn::StepResult result, Step(*training, options.samples));
  const auto push = training->push();
  std::ofstream out(options.out, std::ios::binary);
  out.write(reinterpret_cast<const char*>(push.data()), static_cast<std::streamsize>(push.size()));
  out.flush();
  if (!out) return Unavailable("cannot write {}", options.out);
  nlohmann::json tensors = nlohmann::json::array();
  for (const store::TensorPlace& place : training->layout().tensors()) {
    if (place.spec.kind != store::TensorKind::kParameter) continue;
    tensors.push_back(
        {{"name", place.spec.name}, {"offset", place.offset_bytes}, {"bytes", place.size_bytes}});
  }
  return nlohmann::json({{"loss", result.loss}, {"tensors", tensors}});
}

StatusOr<double> MedianSeconds(learn::Training& training, uint32_t samples, int steps) {
  std::vector<double> seconds;
  for (int i = 0; i < kWarmUpSteps + steps; ++i) {
    const Time begin = SteadyNow();
    PACELINE_RETURN_IF_ERROR(Step(training, samples).status());
    if (i >= kWarmUpSteps) seconds.push_back(ToSeconds(SteadyNow() - begin));
  }
  std::ranges::nth_element(seconds, seconds.begin() + steps / 2);
  return seconds[static_cast<size_t>(steps / 2)];
}

StatusOr<nlohmann::json> Curve(const Options& options) {
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<learn::Training> training, Open(options));
  std::vector<sync::TimedSize> sizes;
  nlohmann::json points = nlohmann::json::array();
  for (const uint32_t samples : options.sizes) {
    PACELINE_ASSIGN_OR_RETURN(const double seconds,
                              MedianSeconds(*training, samples, options.steps));
    sizes.push_back({.samples = static_cast<double>(samples), .seconds = seconds, .weight = 1});
    points.push_back({{"samples", samples}, {"seconds", seconds}});
  }
  const sync::TimeCurve curve = sync::FitCurve(sizes);
  double worst = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    worst = std::max(worst, std::abs(curve(options.sizes[i]) / sizes[i].seconds - 1));
  return nlohmann::json({{"points", points},
                         {"base", curve.base},
                         {"saturation", curve.saturation},
                         {"per_sample", curve.per_sample},
                         {"worst", worst}});
}

Status Say(const StatusOr<nlohmann::json>& said) {
  if (said.ok()) std::cout << said->dump() << std::endl;
  return said.status();
}

}  // namespace
}  // namespace paceline::gpu_proof

int main(int argc, char** argv) {
  using namespace paceline;
  rpc::TuneAllocator();
  gpu_proof::Options options;
  CLI::App app("Computes on a device what a worker would.", "gpu_probe");
  app.require_subcommand(1);
  CLI::App* const gradients = app.add_subcommand("gradients", "The mean gradient of some samples");
  CLI::App* const curve = app.add_subcommand("curve", "Seconds of a step by its size");
  for (CLI::App* const each : {gradients, curve}) {
    each->add_option("--model", options.model, "TorchScript file")->required();
    each->add_option("--data", options.data, "safetensors: inputs and targets")->required();
    each->add_option("--device", options.device)->check(CLI::IsMember({"CPU", "CUDA"}));
  }
  gradients->add_option("--samples", options.samples)->required()->check(CLI::PositiveNumber);
  gradients->add_option("--out", options.out)->required();
  curve->add_option("--sizes", options.sizes, "Ascending")->delimiter(',')->required();
  curve->add_option("--steps", options.steps)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  process::EndProcess(gpu_proof::Say(gradients->parsed() ? gpu_proof::Gradients(options)
                                                         : gpu_proof::Curve(options)),
                      "gpu_probe", "");
}
